#%Module1.0
# SPDX-License-Identifier: Apache-2.0
# Environment Modules: module use PREFIX/share/holdup/modulefiles; module load holdup.  The prefix is found from this file's own place.
set file [file normalize $ModulesCurrentModulefile]
set root [file dirname [file dirname [file dirname [file dirname [file dirname $file]]]]]
set version [file tail $file]

proc ModulesHelp {} {
    global version
    puts stderr "holdup $version: what is holding up your GPU job?  holdup help; man holdup"
}
module-whatis "holdup $version: explains where the time of a GPU job goes; records jobs, watches nodes"

conflict holdup
prepend-path PATH $root/bin
prepend-path CPATH $root/include
prepend-path PKG_CONFIG_PATH $root/share/pkgconfig
