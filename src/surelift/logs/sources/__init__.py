"""Where rounds come from: files, frames, streams, other engines."""
