#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/explain/notes/notes.hpp"

namespace attn {
struct WalkView;
}

namespace attn::notes {

/// What is said of one step: a note on its numbers, and of some why a cell is what it is.
struct StepNote {
    std::string step;
    std::function<std::string(const Subject&)> note;
    std::function<std::string(const WalkView&)> remark{};
};

// The sentences are under the names of their steps, one file for each group of cards.
using NoteTable = std::vector<StepNote>;
NoteTable input_notes();
NoteTable norm_notes();
NoteTable latent_notes();
NoteTable projection_notes();
NoteTable position_notes();
NoteTable cache_notes();
NoteTable score_notes();
NoteTable mask_notes();
NoteTable share_notes();
NoteTable dropout_notes();
NoteTable context_notes();

/// A note that is the same for every walk.
inline std::function<std::string(const Subject&)> says(std::string note) {
    return [note = std::move(note)](const Subject&) { return note; };
}

/// The sentences of an attention file that hold for this walk. In braces stand facts: `{largest}`
/// and
/// `{smallest}` are places in the step's tensor, `{largest_number}` and `{smallest_number}` the
/// numbers there, and an expression in the notation of rules is its number. An expression that is
/// true or false prints nothing. A sentence is left out if one of its facts is false or cannot be
/// computed, as in an excerpt, whose places and numbers are not those of the whole walk.
std::string file_note(const Subject& subject);

/// What is said of a step; nothing of one that mistakes or users have made, or without sentences.
const StepNote* told_of(const Step& step);

}  // namespace attn::notes
