-- SPDX-License-Identifier: Apache-2.0
-- Lmod: module use PREFIX/share/holdup/modulefiles; module load holdup.  The prefix is found from this file's own place.
local root = myFileName():gsub("/share/holdup/modulefiles/holdup/[^/]*$", "")
local version = myFileName():match("([^/]*)%.lua$")

help("holdup " .. version .. ": what is holding up your GPU job?  holdup help; man holdup")
whatis("Name: holdup")
whatis("Version: " .. version)
whatis("Description: explains where the time of a GPU job goes; records jobs, watches nodes")

conflict("holdup")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("CPATH", pathJoin(root, "include"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "share/pkgconfig"))
