#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/explain/document/document.hpp"

namespace app {

/// Returns the flags of a walk that no other command has.
const std::vector<Flag>& walk_own_flags();

/// Returns the sentences before a first walk: its input and sizes, the meaning of random numbers,
/// the letters of formulas, and how to see less and more. Empty if a flag changes more than the
/// input, or anything on the way to a file or a pipe.
std::vector<attn::Prose> opening_of(const Arguments& arguments, const attn::Plan& plan);

/// Returns a command line to try after a walk: to explain its mistake, run lint, or derive one of
/// its numbers.
std::string next_command(const Arguments& arguments, const attn::Plan& plan,
                         const attn::Ledger& ledger);

/// Reports on standard error the number of fully masked rows, and their weights.
void note_empty_rows(const attn::Plan& plan, const attn::Ledger& ledger);

/// Marks the steps whose numbers are not those of the model's own walk.
void mark_changes(const Arguments& arguments, const attn::Plan& plan, const attn::Ledger& ledger,
                  attn::Document& document);

/// Reports the check by central differences: in a line at the end, and next to the cells that are
/// off.
void add_verdict(const attn::Ledger& ledger, attn::Document& document);

/// Reports forms of the attention whose tensors differ although its file lists them as the same. If
/// it `proves`, the verdict on each form is noted next to the tensor.
void add_forms(const Arguments& arguments, const attn::Plan& plan, const attn::Ledger& given,
               const attn::Ledger& ledger, bool proves, attn::Document& document);

/// Adds the memory of a form that has one, for the first screen of another form's page.
void add_memory(const Arguments& arguments, const attn::Plan& plan, attn::Document& document);

/// Notes next to each rule of the user whether it is equivalent to the one that it replaces.
void note_equal_rules(const attn::Plan& plan, const attn::Ledger& given, const attn::Ledger& ledger,
                      attn::Document& document);

/// Reports that standard input is not read, if something was piped into a walk without a source.
void note_unread_input(const Arguments& arguments);

/// Runs a walk with the current flags and reports the changes since the previous one; returns it.
using WalkOnce = std::function<std::shared_ptr<const attn::Document>(
    const Arguments& arguments, std::shared_ptr<const attn::Document> before)>;

/// Runs a walk, and again whenever a file that the flags name changes, until an interrupt ends the
/// program. Errors in a file are reported, and the program waits for the next change.
///
/// Errors  ConfigError if the flags name no file; those of the first walk.
[[noreturn]] void watch(const Arguments& arguments, const WalkOnce& walk_once);

}  // namespace app
