#pragma once
#include "attn/notes/notes.hpp"

namespace attn::notes {

/// `Chunk 0 is rows 0 to 2, chunk 1 rows 3 to 5.` for a walk in chunks; empty otherwise.
std::string chunk_rows(const Subject& subject);

/// What walking the chunks through the cache gives, beside the context of the whole walk.
std::string chunk_check(const Subject& subject);

}  // namespace attn::notes
