#include "attn/core/rules/rule.hpp"

namespace attn {

// The grammar of the parser, function by function; tests generate random rules from it. A construct
// that ends with an expression extends as far as possible.
const char* rule_grammar() {
    return R"ebnf(rule       = name "[" [ name { "," name } ] "]" "=" expression .
expression = both { "or" both } .
both       = negation { "and" negation } .
negation   = comparison | "not" negation .
comparison = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ] .
sum        = product { ( "+" | "-" ) product } .
product    = sign { ( "*" | "/" | "//" | "%" ) sign } .
sign       = power | "-" sign .
power      = primary [ ( "^" | "**" ) sign ] .
primary    = number | "inf" | "nan" | name | cell | call | reduction | choice
           | "(" expression ")" .
cell       = [ "latest" | "exact" ] name "[" [ expression { "," expression } ] "]" .
call       = function "(" expression ")"
           | ( "min" | "max" ) "(" expression "," expression ")"
           | "clamp" "(" expression "," expression "," expression ")" .
function   = "exp" | "log" | "sqrt" | "tanh" | "cos" | "sin" | "erf" | "abs" | "sign"
           | "sigmoid" | "relu" | "silu" | "softplus" | "logsigmoid" | "elu" | "gelu"
           | "floor" | "half" | "stop" .
reduction  = ( "sum" | "mean" | "max" | "min" | "prod" | "argmax" | "rank" | "softmax" ) name
             [ "in" sum ".." sum ] ":" expression .
choice     = "if" expression "then" expression "else" expression .
)ebnf";
}

const char* attention_grammar() {
    return R"ebnf(file       = { line } .                        # "#" begins a remark
line       = "attention" name | "title" text | "source" text | "lesson" text
           | "begins" flags | "explains" text
           | "setting" name "=" expression | "axis" name "<" expression
           | "parameter" cell "~" distribution | "parameter" cell "=" expression
           | "form" name | "same" name { name } | "together" name name { name }
           | "define" name "(" [ name { "," name } ] ")" [ "[" [ name { "," name } ] "]" ]
             "=" expression                     # then name "(" arguments ")" "[" indices "]"
           | "step" rule { "title" text | "note" text | "torch" text | "numpy" text
                         | "called" text | "extends" name | "after" name }
           | "mistake" name "at" name { "rule" rule | "title" text | "effect" text
                         | "lesson" text | "fix" ( "torch:" | "numpy:" ) text } .
distribution = "linear" | "normal" [ "(" expression "," expression ")" ]
           | "uniform" [ "(" expression "," expression ")" ] | "ones" | "zeros" .
)ebnf";
}

}  // namespace attn
