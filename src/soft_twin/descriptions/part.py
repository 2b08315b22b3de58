"""What every part of a description is: frozen, without unknown keys, with all that is wrong named."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from soft_twin.descriptions.kinds_of_value import mistake
from soft_twin.descriptions.nearest import nearest
from soft_twin.descriptions.shortened import shortened


class Part(BaseModel):
    """A mapping of a description; its fields' descriptions and kinds are the reference's and the schema's."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _has_only_known_keys(cls, content: Any) -> Any:
        """Before anything else: a misspelt key is told as such, not as a missing one."""
        if not isinstance(content, dict):
            raise mistake(f"expected a mapping, found {shortened(content)}")
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in content:
            if key not in known:
                raise mistake(f"there is no key {shortened(key)} here: {nearest(key, known)}", key)
        return content
