#pragma once
#include "attn/notes/notes.hpp"

namespace attn::notes {

// The notes of the steps that make weights of scores.

std::string row_max_note(const Subject& subject);
std::string exponentials_note(const Subject& subject);
std::string row_sum_note(const Subject& subject);
std::string weights_note(const Subject& subject);

}  // namespace attn::notes
