// Scripts and styles as a page contains them.
#include "attn/show/render/page/page_files.hpp"

#include <doctest/doctest.h>

using namespace attn;

TEST_SUITE("render: squeeze") {
    TEST_CASE("indents, comments and spaces around operators are removed") {
        CHECK(squeezed_script("    const a = b ? [1, 2] : c;\n    // why\n\n    f(a );\n") ==
              "let a=b?[1,2]:c;f(a);");
        CHECK(squeezed_script("f(/** @type {any} */ { a = b / c + d });\n") == "f({a=b/c+d});");
        CHECK(squeezed_script("f((one) => g(one), async (two) => two, (a, b) => a);\n") ==
              "f(one=>g(one),async(two)=>two,(a,b)=>a);");
        CHECK(squeezed_script("if (f(a)) b = (c) >= d;\n") == "if(f(a))b=(c)>=d;");
        CHECK(squeezed_script("if (!a) {\n    f(a + 1);\n}\n") == "if(!a){f(a+1)}");
        CHECK(squeezed_script("/**\n * What it is.\n */\nclass A {\n    b() {\n    }\n}\n") ==
              "class A{b(){}}");
        CHECK(
            squeezed_style("/* why */\n* {\n    margin: 0 auto;\n}\n.a > .b,\n.c :is(b) {\n}\n") ==
            "*{margin:0 auto}.a > .b,.c :is(b){}");
    }

    TEST_CASE("strings and regular expressions stay, comments are removed") {
        CHECK(squeezed_script("f(\"a = b\", 'c , d', `e : ${g}`);\n") ==
              "f(\"a = b\",'c , d',`e : ${g}`);");
        CHECK(squeezed_script("g(\"say \\\" = \\\"\" );\n") == "g(\"say \\\" = \\\"\");");
        CHECK(squeezed_script("const r = / (a|b) +/;\nh();\n") == "let r=/ (a|b) +/;h();");
        CHECK(squeezed_script("x = 1; // one;\ny = 2;\n") == "x=1;y=2;");
        CHECK(squeezed_script("const a = 1;\nlet b = f((c) => c);\nb();\n") ==
              "let a=1,b=f(c=>c);b();");
        CHECK(squeezed_style("a {\n    font: x, y;\n}\n") == "a{font:x,y}");
        CHECK(squeezed_script("a + b\nc - -d\n") == "a+b\nc- -d\n");
    }
}
