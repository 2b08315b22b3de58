"""Raw samples -> temperature control, orientation, gravity, inclinations of struts."""
