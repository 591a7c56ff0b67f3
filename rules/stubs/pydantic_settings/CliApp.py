"""pydantic_settings: CliApp.run makes an object of a model."""

from stubs.commands import start as run
