//! Streaming readers for the trace formats that Flitwise replays.
