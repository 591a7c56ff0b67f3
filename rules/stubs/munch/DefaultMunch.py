"""munch.DefaultMunch: what makes one of a dict."""

from stubs.munch.Munch import fromDict
