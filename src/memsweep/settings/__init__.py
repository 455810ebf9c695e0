"""Settings: every field with its default, its range and its meaning; read from the environment and memsweep.toml."""

from __future__ import annotations

from memsweep.places import config_file as config_file
from memsweep.settings.fields import Settings as Settings
from memsweep.settings.load import load_settings as load_settings
from memsweep.settings.load import stored_at as stored_at
