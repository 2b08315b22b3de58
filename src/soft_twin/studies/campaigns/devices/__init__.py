"""Devices written from their data sheets, with physics of their own; they share no code with drivers or emulation."""
