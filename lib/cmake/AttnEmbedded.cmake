# Files that the assembler embeds in the program unchanged: it finds them in their own folders, and
# runs again when one changes. For the targets of the folder that includes this.
set(lib ${PROJECT_SOURCE_DIR}/lib/attn)

function(attn_lay source)
    set(folders "")
    foreach(file ${ARGN})
        get_filename_component(folder ${file} DIRECTORY)
        list(APPEND folders -Wa,-I${folder})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${folders}"
                                                     OBJECT_DEPENDS "${ARGN}")
endfunction()

# Concatenates texts: NAME.txt in the build folder, whose path is in NAME_text.
function(attn_join name)
    set(text ${CMAKE_CURRENT_BINARY_DIR}/${name}.txt)
    add_custom_command(OUTPUT ${text} DEPENDS ${ARGN} VERBATIM
        COMMAND sh -c "cat \"$@\" >${name}.txt" sh ${ARGN}
        WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set(${name}_text ${text} PARENT_SCOPE)
endfunction()

# The pages of the tour, scripts of shells, a program.
function(attn_lay_texts)
    set(app ${PROJECT_SOURCE_DIR}/app)
    foreach(kind numpy torch)
        file(GLOB exercises CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/practice/${kind}/*.py)
        attn_join(practice_${kind} ${exercises})
    endforeach()
    add_custom_target(practice DEPENDS ${practice_numpy_text} ${practice_torch_text})
    set(reference ${app}/reference)
    attn_lay(${app}/texts.S ${app}/tour.md ${app}/commands/probe.py ${app}/python/attn_explain.py ${app}/python/attn_explain.pyi.in
             ${app}/python/attn_trace.py ${reference}/verified.txt
             ${reference}/words.txt ${reference}/completion.bash ${reference}/completion.zsh ${reference}/completion.fish
             ${app}/web/page/play.css ${app}/web/page/play.js ${app}/web/page/play_worker.js
             ${practice_numpy_text} ${practice_torch_text})
endfunction()

# The built-in model.
set(models ${PROJECT_SOURCE_DIR}/data/models)
attn_lay(${lib}/models/shipped.S ${models}/stories260K.bin ${models}/tok512.bin)
# The style and the script of --format html, and the core of live pages.
set(page ${lib}/show/render/page)
file(GLOB page_files CONFIGURE_DEPENDS ${page}/*.css ${page}/*.js)
set(live ${PROJECT_SOURCE_DIR}/data/live)
attn_lay(${page}/page.S ${page_files} ${live}/core.wasm.gz ${live}/program.wasm.gz
         ${live}/program.js.gz)
# The words of the notebooks.
set(pages ${lib}/learn/notebooks/pages)
file(GLOB page_files CONFIGURE_DEPENDS ${pages}/*.txt)
attn_lay(${pages}/pages.S ${page_files})
# The attention of the program: the first text that applies to a step is used, so variants come in
# this order.
set(standard ${PROJECT_SOURCE_DIR}/data/attentions/standard.attn)
foreach(idea inputs x-norm qkv given scale fused sigmoid sink softmax cache shared-heads
             position-bias latents differential rope qk-norm dropout)
    list(APPEND standard ${PROJECT_SOURCE_DIR}/data/attentions/standard/${idea}.attn)
endforeach()
attn_join(standard ${standard})
attn_lay(${lib}/core/cards/standard.S ${standard_text})
# The attentions of data/attentions, concatenated.
file(GLOB attentions CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/attentions/*.attn)
list(REMOVE_ITEM attentions ${PROJECT_SOURCE_DIR}/data/attentions/standard.attn)
attn_join(attentions ${attentions})
# Facts about attention that hold for every input, each in two forms, in teaching order.
set(laws "")
foreach(law rows-sum-to-1 shift key-bias value-bias two-keys equal-keys first-token
            masked-is-removed masked-afterwards later-tokens order-of-tokens scale one-matrix
            values-and-output symmetric heads-side-by-side shared-keys online-softmax
            without-softmax sinusoid-distance rope-distance rope-pairings)
    list(APPEND laws ${PROJECT_SOURCE_DIR}/data/laws/${law}.attn)
endforeach()
attn_join(laws ${laws})
# The examples of data/examples, concatenated.
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/examples/*.txt)
attn_join(examples ${examples})
# The mistakes of the standard walk, in the order in which they are listed: by the steps where they
# show first, then harmless differences, then gradients.
set(mistakes "")
foreach(place needs inputs projection heads norms pairs rotary frequencies scores scale biases mask
              mask-kinds masked-scores softmax cache dropout latent context harmless gradients)
    list(APPEND mistakes ${PROJECT_SOURCE_DIR}/data/mistakes/${place}.txt)
endforeach()
attn_join(mistakes ${mistakes})
attn_lay(${lib}/judge/mistakes/mistakes.S ${mistakes_text})
add_custom_target(attentions DEPENDS ${attentions_text} ${standard_text} ${laws_text}
                                     ${examples_text} ${mistakes_text})
attn_lay(${lib}/data.S ${attentions_text} ${laws_text} ${examples_text})
attn_lay(${lib}/judge/texts.S ${lib}/judge/diagnose/names.txt ${lib}/judge/lint/rules.txt)
attn_lay(${lib}/models/families.S ${lib}/models/families.json)
