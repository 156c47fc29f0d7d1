#pragma once
#include <string>
#include <vector>

#include "attn/judge/diagnose/diagnose.hpp"
#include "attn/judge/trace/align.hpp"

namespace attn {

enum class LineVerdict {
    right,
    follows,   ///< wrong numbers, correctly computed from earlier ones
    wrong,     ///< a known mistake
    harmless,  ///< it differs, and the results are still correct
    unknown,   ///< it differs, and follows a rule with one thing changed
    open,      ///< it differs, and no known mistake or rule explains it: it may be a variant
    not_judged,
};

/// True for a verdict that calls a line wrong.
inline bool is_wrong(LineVerdict verdict) {
    return verdict == LineVerdict::wrong || verdict == LineVerdict::unknown;
}

/// A line of a program that computes steps of attention.
struct ExplainedLine {
    std::string file;  ///< empty for the main program
    std::size_t line = 0;
    std::string name;  ///< the variable or the expression
    std::vector<std::string> steps;
    Shape shape;
    LineVerdict verdict = LineVerdict::right;
    const Finding* finding = nullptr;  ///< in the diagnosis of its attention
    std::string reason{};              ///< why it was not judged
};

/// One attention of a program: its lines in order of time, and their diagnosis.
struct ExplainedAttention {
    Diagnosis diagnosis;
    std::vector<ExplainedLine> lines;
    std::string settings;  ///< settings of the walk that are not the default, as flags
    bool begins_at_query =
        false;  ///< query, key and value are not computed from an input by parameters
    bool ends_at_weights = false;  ///< no line multiplies them by values
    std::vector<LineQuestion> questions{};
    bool is_open = false;  ///< a question for the user is open
};

/// A program, line by line.
struct Explanation {
    std::vector<ExplainedAttention> attentions;
    /// Lines of the main program that compute tensors outside of every attention.
    std::vector<std::size_t> skipped_lines{};

    bool has_mistake() const;
    /// True if this program computed a step, and all that were judged are right with no open
    /// question.
    bool is_right() const;
};

/// Finds the attentions in a trace, judges each, and reports which line computes which step.
///
/// `base` is the walk that flags describe. `answers` are tensors, by
/// labels of the trace, to judge in place of the trace's own.
Explanation explain(const Trace& trace, const RequestedWalk& base, const DiagnoseOptions& options,
                    const Ledger& answers = {});

}  // namespace attn
