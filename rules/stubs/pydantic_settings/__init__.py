"""pydantic_settings: models whose fields the environment may give, or a file of variables."""

from stubs.pydantic import BaseSettings
from stubs.pydantic import ConfigDict as SettingsConfigDict
