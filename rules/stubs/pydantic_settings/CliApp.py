"""pydantic_settings: CliApp.run makes an object of a model."""

from stubs._commands import start as run
