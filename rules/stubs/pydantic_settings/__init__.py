"""pydantic_settings: models whose fields the environment, a file of variables or the command line may give."""

from stubs.pydantic import BaseModel, ConfigDict


class BaseSettings(BaseModel):
    is_elsewhere = True


SettingsConfigDict = ConfigDict
