#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/learn/notebooks/notebook.hpp"

namespace app {

/// --notebook, for the commands that walk.
const std::vector<Flag>& notebook_walk_flags();
/// The numbers and names of notebooks.
std::vector<std::string> notebook_names();

/// The flags that make a walk: `--heads 2`.
std::vector<Arguments::Said> flags_of(const attn::NotebookWalk& walk);

/// The cells of a page that `name` names: one section, all of a numbered cell of the notebook, or
/// all cells with that name in the notebook.
///
/// Errors  ConfigError, with a guess.
std::vector<attn::Section> cells_named(const attn::Notebook& notebook, const attn::Document& page,
                                       const std::string& name);

/// The text of --only with names of sections in place of the notebook's numbers and own names.
std::string sections_named(const attn::Document& page, const std::string& only);

/// Adds the flags of the walk that --notebook names below the typed ones, replacing those that it
/// added before. Without a cell it is the one that CELL (of why) names, else the main walk.
/// With --corrected, or if no mistake can be made (there is no --bug), it is the corrected walk.
///
/// Errors  ConfigError for a notebook or cell that does not exist, or that no walk makes.
void put_notebook_under(Arguments& arguments);

/// If --notebook names no cell, uses the flags of the page's walk that makes the most of these
/// tensors, and reports which one.
///
/// Returns the steps that the page alone calls by the names of some: `embedded_sentence` is x.
std::map<std::string, std::string> put_walk_of_tensors_under(Arguments& arguments,
                                                             const attn::Ledger& tensors);

/// Adds the flags of a walk below the typed ones, as implied.
/// Errors  ConfigError if a trained model is given too.
void put_walk_under(Arguments& arguments, const attn::NotebookWalk& walk);

/// The section of the notebook's page that `cell` (`weights[0,1]`) lies in; nullopt if it has no
/// such section, or --notebook names a cell of another walk.
std::optional<attn::Section> page_section(const Arguments& arguments, const std::string& cell);

/// The cell of the walk that a cell of the page is; empty if it is made of many.
///
/// Errors  ConfigError for indices that the page's tensor does not have.
std::string cell_of_walk(const attn::Section& section, const attn::Plan& plan,
                         const attn::Ledger& ledger, const std::string& cell);

}  // namespace app
