#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/explain/backward/backward.hpp"

namespace attn {
struct AttentionFile;
struct ExampleFile;
struct SpecifiedSettings;
struct Walked;
}  // namespace attn

namespace app {

struct ModelRun;

/// The settings of a walk, for every command that computes one.
const std::vector<Flag>& walk_flags();

/// --bug, for the commands that walk with mistakes too.
const std::vector<Flag>& bug_flags();

/// Returns the mistakes of --bug, without a notebook's that have no effect in this walk.
std::vector<std::string> bugs_of(const Arguments& arguments, const attn::Plan& plan);

/// A row whose numbers do not sum to 1: its first element, and the sum.
struct OffRow {
    std::size_t first;
    double sum;
};
/// Returns the first row of the last axis whose sum differs from 1 by more than `near`.
std::optional<OffRow> row_off_one(const attn::Tensor& tensor, double near);

/// Returns the step for a tensor, by its name or, because programs may use the same name for scores
/// and weights, by its numbers; empty if there is none. Without a name, weights if rows sum to 1.
std::string given_as(const std::string& name, const attn::Tensor& tensor);

/// Returns the steps for names of a file, from --map.
/// Errors  ConfigError for a name that the file lacks.
std::map<std::string, std::string> mapped_names(const Arguments& arguments,
                                                const attn::Ledger& file);

/// Returns the step table with the mistakes of --bug; without any, the reference table itself.
///
/// Errors  ConfigError for an unknown id, for a mistake without effect in this walk, and with
///         --variant fused, which leaves out the steps that the mistakes replace.
std::shared_ptr<const attn::StepTable> table_of(const Arguments& arguments, const attn::Plan& plan);

/// True if a flag describes the walk, not its output, so that it may be in a line of flags.
bool makes_walk(const Flag& flag);

/// Returns the given flags over those of --config, --preset and --notebook: every line of flags is
/// completed here.
///
/// Errors  InputError for the file of --config; ConfigError for its settings and those of the
/// others.
Arguments completed(Arguments specified);

/// Returns `arguments` with more flags of a walk on top (`--scale`, `none`).
///
/// Errors  as above, and ConfigError for the words and for flags of the whole command.
Arguments with_flags(const Arguments& arguments, const std::vector<std::string>& words);

/// The configuration that the flags describe; reads the files they name. The model of --model-file
/// is not read and run again if it is given as `run`.
///
/// Errors  ConfigError naming the flag; InputError naming the file.
attn::WalkConfig config_of(const Arguments& arguments, const ModelRun* run = nullptr);

/// Reads an attention: a shipped one by name, a file, or a text of several lines.
///
/// Errors  ConfigError for an unknown name, InputError for the file.
std::shared_ptr<const attn::AttentionFile> attention_of(const std::string& specified);
/// The values of --attention, with files replaced by their texts.
std::vector<std::string> attentions_of(const Arguments& arguments);
/// Returns `typed` over the settings that the attention files begin with.
Arguments with_attentions(Arguments typed);

/// Reads an example: a shipped one by name, a file, or a text of several lines.
///
/// Errors  ConfigError for an unknown name, InputError for the file.
std::shared_ptr<const attn::ExampleFile> example_of(const std::string& specified);
/// Sets the parameters of an example, their sizes and all names; returns its x.
attn::Tensor set_example(const std::string& specified, attn::WalkConfig& config);
/// Returns the example as a text that needs no file: a shipped name, or the whole text.
std::string example_text(const std::string& specified);
/// Returns `typed` over the flags of the example.
Arguments with_example(Arguments typed);

/// Returns the rule of --rule, or those of its file.  Errors  InputError for a file.
std::vector<std::string> rules_in(const std::string& specified);

/// Computes the walk that the flags describe.  Errors  as config_of and table_of.
attn::Walked walk_of(const Arguments& arguments, const ModelRun* run = nullptr);

/// The default text of a walk.
constexpr const char* default_sentence = "Life is short, eat dessert first";

/// Reads the parameters of --weights into the configuration, which must have its sources and its
/// model already, and infers properties of the model that no flag sets. Reports parameters that are
/// drawn instead, and unused names.
///
/// Errors  ConfigError for flags that contradict the file; InputError for the file.
void set_given_weights(const Arguments& arguments, attn::WalkConfig& config);

/// Returns the settings that flags set, which given tensors then do not.
attn::SpecifiedSettings specified_settings(const Arguments& arguments);

/// Changes `config` to the layer that --model-file and --layer select.
///
/// Errors  ConfigError for flags that contradict the model; InputError for its files.
void set_model_layer(const Arguments& arguments, const ModelRun* run, attn::WalkConfig& config);

/// Writes a line, or an object, per layer of the model.
void write_layers(const Arguments& arguments);

/// Reports on standard error the flags that changed the walk of the trained model.
void note_changes(const attn::Plan& plan);

/// Returns all settings of a plan, including defaults, each with its value as JSON text, and the
/// mistakes made; then under `explicit_settings` words, ids and files, so that the walk can be
/// repeated. Names and values are those of the flags, with underscores.
std::vector<std::pair<std::string, std::string>> config_entries(const Arguments& arguments,
                                                                const attn::Plan& plan);

/// Accepts a mask of numbers to add to the scores, as in PyTorch: -inf or a number far below 0 for
/// a hidden key, any other number otherwise. A mask of only 0 and -inf hides keys, and is shown as
/// a mask, unless gradients need an addend. Returns false for zeros and ones, whose meaning is
/// ambiguous.
///
/// Errors  ConfigError if scores have a bias already.
bool take_added_mask(const attn::Tensor& mask, bool is_for_gradients, attn::WalkConfig& config);

/// Reads the mask that --mask-file names; --mask-true sets the meaning of true (or 1), keep or
/// drop.
void set_mask_file(const Arguments& arguments, attn::WalkConfig& config);

/// Refuses a walk that leaves out steps, which `who` needs.
///
/// Errors  ConfigError with --variant fused.
void require_all_steps(const attn::WalkConfig& config, const std::string& who);

/// Rows of --backward and related flags; the row of --loss, and the loss.
std::vector<Flag> gradient_flags();
Flag loss_flag();
attn::Loss loss_of(const Arguments& arguments, const attn::Plan& plan,
                   const attn::StepTable& table);

/// Returns the table with the backward pass that --backward requests; the table itself without it.
///
/// Errors  InputError for a file that cannot be read, and as attn::with_gradients.
attn::StepTable with_gradients(const Arguments& arguments, const attn::Plan& plan,
                               attn::StepTable table);

/// Returns the walk with its parameters moved against their gradients, once per --learn:
///
///     w - rate * d_w
attn::WalkConfig after_learning(const Arguments& arguments, attn::WalkConfig config);

}  // namespace app
