# MERAK_SANITIZE: address+undefined or thread. The two cannot be combined.
if(MERAK_SANITIZE STREQUAL "address+undefined")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(MERAK_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(MERAK_SANITIZE)
  message(FATAL_ERROR "MERAK_SANITIZE is '${MERAK_SANITIZE}'; "
                      "it takes address+undefined, thread, or nothing")
endif()
