"""The process in which verify's runs happen: the only place that imports torch and transformers."""
