#pragma once
#include "app/flags/output_flags.hpp"
#include "attn/learn/notebooks/notebook.hpp"

namespace app {

/// True if a flag changes the numbers of a notebook, not only how it is replayed or shown.
bool changes_settings(const Arguments& arguments);

/// The flags of a notebook's walk, overridden by the typed ones.
Arguments walk_arguments(const Arguments& arguments, const attn::NotebookWalk& walk);

/// Reports the flags that have no effect in any walk of the notebook.
void note_useless_settings(const Arguments& arguments, const attn::Notebook& notebook,
                           const attn::ReplayOptions& replay);

/// Reports that the typed settings change no number of the cells that are shown.
void note_no_change(const Arguments& arguments, const attn::Notebook& notebook,
                    const attn::ReplayOptions& replay, const attn::Document& shown);

/// Returns the page with the numbers of the typed settings. Cells that differ from the notebook are
/// marked, and so are cells that these settings remove or do not fit.
///
/// Errors  ConfigError, InputError: settings that no walk of the notebook can take.
attn::Document changed_page(const Arguments& arguments, const attn::Notebook& notebook,
                            const attn::ReplayOptions& replay);

/// Returns notes on parts of a cell, from the walk with its numbers, as the page's own words
/// describe the whole cell. A note is empty unless the part is simply a part of a step.
NoteOfPart notes_of_cells(const Arguments& arguments, const attn::Notebook& notebook,
                          const attn::ReplayOptions& replay);

}  // namespace app
