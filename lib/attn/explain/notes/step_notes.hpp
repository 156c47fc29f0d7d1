#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/explain/notes/notes.hpp"

namespace attn {
struct WalkView;
}

namespace attn::notes {

/// The note for a step on its numbers, and for some steps the reason for a cell.
struct StepNote {
    std::string step;
    std::function<std::string(const Subject&)> note;
    std::function<std::string(const WalkView&)> remark{};
};

// Notes by step name, in one file per group of cards.
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

/// A note that is the same for all walks.
inline std::function<std::string(const Subject&)> fixed_note(std::string note) {
    return [note = std::move(note)](const Subject&) { return note; };
}

/// Returns the sentences of an attention file that are true for this walk. Braces contain facts:
/// `{largest}` and `{smallest}` are places in the step's tensor, `{largest_number}` and
/// `{smallest_number}` the numbers there, and an expression in the notation of rules is replaced by
/// its value. A condition prints nothing. A sentence is left out if one of its facts is false or
/// cannot be computed, for example in an excerpt, whose places and numbers are not those of the
/// whole walk.
std::string file_note(const Subject& subject);

/// Returns the notes of a step; nullptr for steps of mistakes or users, or without notes.
const StepNote* note_on(const Step& step);

}  // namespace attn::notes
