# SPDX-License-Identifier: Apache-2.0
# Run by `cmake --install`, after the library: installs a plugin's manifest, with the digest of the library that is
# installed, stripped or not. If the environment variable GANTRY_SIGN_KEY names a secret key of minisign, the manifest is
# signed with it, and the signature is beside it.
#
#   manifest      built manifest, in which the library is a name
#   library       installed library, below the prefix or absolute
#   installed     installed manifest, below the prefix or absolute
#   is_absolute   whether the installed manifest has the absolute path of the library
#   has_digest    whether a manifest that is not signed has the digest
cmake_path(ABSOLUTE_PATH library BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
cmake_path(ABSOLUTE_PATH installed BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
set(key "$ENV{GANTRY_SIGN_KEY}")
file(READ "${manifest}" text)
if(NOT text MATCHES "(^|\n)library: *[^\n]+")
  message(FATAL_ERROR "${manifest} has no line that begins with \"library:\"")
endif()
if(is_absolute)
  string(REGEX REPLACE "(^|\n)library:[^\n]*" "\\1library: ${library}" text "${text}")
endif()
if(has_digest OR NOT key STREQUAL "")
  file(SHA256 "$ENV{DESTDIR}${library}" digest)
  string(REGEX REPLACE "(^|\n)sha256:[^\n]*\n?" "\\1" text "${text}")
  string(REGEX REPLACE "(^|\n)(library:[^\n]*)" "\\1\\2\nsha256: ${digest}" text "${text}")
endif()
cmake_path(GET installed PARENT_PATH directory)
cmake_path(GET installed FILENAME name)
set(work "${manifest}.installed")
set(files "${work}/${name}")
file(WRITE "${files}" "${text}")
if(NOT key STREQUAL "")
  if(NOT IS_ABSOLUTE "${key}" OR NOT EXISTS "${key}")
    message(FATAL_ERROR "GANTRY_SIGN_KEY is \"${key}\", expected the absolute path of a secret key of minisign")
  endif()
  find_program(minisign minisign NO_CACHE)
  if(NOT minisign)
    message(FATAL_ERROR "GANTRY_SIGN_KEY is set, and minisign, which signs the manifest, is not installed")
  endif()
  # The comment is fixed, so that the same manifest and key give the same bytes.
  execute_process(COMMAND "${minisign}" -S -s "${key}" -t "file:${name}" -m "${work}/${name}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "minisign cannot sign ${name} with GANTRY_SIGN_KEY, ${key}: status ${status}")
  endif()
  list(APPEND files "${work}/${name}.minisig")
endif()
# A signature of an earlier installation is not valid for this one. file(INSTALL) would keep a manifest that is less than a
# second older.
file(REMOVE "$ENV{DESTDIR}${installed}" "$ENV{DESTDIR}${installed}.minisig")
file(INSTALL DESTINATION "${directory}" TYPE FILE FILES ${files})
file(REMOVE_RECURSE "${work}")
