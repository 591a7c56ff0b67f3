"""pydantic.dataclasses: dataclasses that check their fields as models do."""

from stubs.pydantic import BaseModel


class dataclass(BaseModel):
    is_base_only = True
