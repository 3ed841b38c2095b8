#!/bin/bash
# Records an application with `flitwise record`, as README.md describes. It installs and downloads nothing: it says what is missing.
set -eu

usage() {
    cat <<'TEXT'
Usage: record.sh APPLICATION [RANKS]

Applications: lammps-melt lammps-peptide gromacs-water hpl randomaccess lulesh minife amg cg ft lu leanmd

Variables:
  FLITWISE  the program (default: flitwise)
  OUT       directory of the recordings (default: recordings)
  SOURCES   directory of the applications' sources (default: sources)
  MPI       openmpi (default) or mpich, as Debian calls them
TEXT
    exit 2
}

fail() { echo "record.sh: $*" >&2; exit 1; }

[ $# -ge 1 ] && [ $# -le 2 ] || usage
app=$1
ranks=${2:-128}
flitwise=$(realpath -m "$(command -v "${FLITWISE:-flitwise}" || true)")
[ -x "$flitwise" ] && [ -f "$flitwise" ] || fail "no ${FLITWISE:-flitwise}: set FLITWISE"
mkdir -p "${OUT:=recordings}"
out=$(realpath "$OUT")
sources=$(realpath -m "${SOURCES:-sources}")
mpi=${MPI:-openmpi}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One thread per rank. Waiting ranks leave the processor to others.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

needs() { # PROGRAM PACKAGE
    command -v "$1" > /dev/null || fail "no $1: install $2"
}
case $mpi in
openmpi) launch=(mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n "$ranks") ;;
mpich) launch=(mpirun.mpich -n "$ranks") ;;
*) usage ;;
esac
needs "mpirun.$mpi" "an MPI (Debian: openmpi-bin libopenmpi-dev, or mpich libmpich-dev)"
needs "mpicc.$mpi" "the compiler of the MPI (Debian: libopenmpi-dev, or libmpich-dev)"

# Copies the sources of NAME, cloned from URL at COMMIT, to $work/NAME.
copy() { # NAME URL COMMIT
    local dir=$sources/$1
    [ -d "$dir/.git" ] || fail "no sources in $dir:
  git clone $2 $dir && git -C $dir checkout $3"
    git -C "$dir" cat-file -e "$3^{commit}" || fail "$dir has no commit $3"
    mkdir "$work/$1"
    git -C "$dir" archive "$3" | tar -x -C "$work/$1"
}

record() { # PROGRAM ARGUMENTS...
    "${launch[@]}" "$flitwise" record -o "$out/$app-$ranks" --mpicc "mpicc.$mpi" -- "$@"
}

lammps() { # EXAMPLE SED-SCRIPT
    local examples=/usr/share/lammps/examples
    [ "$mpi" = openmpi ] || fail "Debian builds lammps with Open MPI"
    needs lmp "lammps"
    [ -d $examples ] || fail "no $examples: install lammps-examples"
    cp "$examples/$1"/* "$work"
    sed -i "$2" "$work/in.$1"
    cd "$work"
    record lmp -in "in.$1"
}

# HPCC runs all its benchmarks; one is chosen here, and HPL's grid is P x Q.
hpcc() { # RUN N
    local p=1
    while [ $((4 * p * p)) -le "$ranks" ]; do p=$((2 * p)); done
    [ $((ranks % p)) = 0 ] || fail "$app needs a power of two of ranks"
    copy hpcc https://github.com/icl-utk-edu/hpcc d2b9a19b4498fdced2860f3394c03f27714b6160
    cd "$work/hpcc"
    local blas=/usr/lib/x86_64-linux-gnu/openblas-serial
    [ -d $blas ] || fail "no $blas: install libopenblas-serial-dev"
    sed -i "287,292d; 286a params->$1 = 1;" src/io.c
    sed -e 's|^MPinc.*|MPinc =|; s|^MPlib.*|MPlib =|; s|^LAinc.*|LAinc =|' \
        -e "s|^LAlib.*|LAlib = -L$blas -lopenblas|; s|^CC .*|CC = mpicc.$mpi|" \
        -e 's|^CCFLAGS.*|CCFLAGS = $(HPL_DEFS) -O2|' hpl/setup/Make.Linux-x86_64-OpenBLAS-FFTW3 > hpl/Make.own
    make arch=own > "$work/log" 2>&1 || { tail "$work/log"; fail "HPCC does not build"; }
    sed -e "s/^1000 .*Ns/$2 Ns/; s/^80 .*NBs/64 NBs/; s/^2 .*Ps/$p Ps/; s/^2 .*Qs/$((ranks / p)) Qs/" _hpccinf.txt > hpccinf.txt
    record ./hpcc
}

npb() { # BENCHMARK
    copy nas-parallel-benchmarks https://github.com/mbdevpl/nas-parallel-benchmarks 6f8ec75d6951629d2eb7e3001433295d407230aa
    needs gfortran gfortran
    cd "$work/nas-parallel-benchmarks/NPB3.4-MPI"
    mkdir -p bin
    sed -e "s/^MPIFC.*/MPIFC = mpif90.$mpi/; s/^MPICC.*/MPICC = mpicc.$mpi/; s/^RAND.*/RAND = randi8_safe/" \
        -e 's/^FFLAGS.*/FFLAGS = -O2 -fallow-argument-mismatch/; s/^CFLAGS.*/CFLAGS = -O2/' config/make.def.template > config/make.def
    sed -i '/na=14000;/s/niter=15/niter=1/' sys/setparams.c # one iteration of CG after the one that it does not time
    make "$1" CLASS=A > "$work/log" 2>&1 || { tail "$work/log"; fail "NPB does not build"; }
    awk '/nitmax/ { next_number = 1 } next_number && /250/ { sub(/250/, "3"); next_number = 0 } 1' LU/inputlu.data.sample > inputlu.data
    record "bin/$1.A.x"
}

case $app in
lammps-melt) lammps melt 's/0 10 0 10 0 10/0 16 0 16 0 16/; s/^run.*/run 20/; s/^thermo.*/thermo 20/' ;;
lammps-peptide) lammps peptide 's/^run.*/run 1/' ;;
gromacs-water)
    [ "$mpi" = openmpi ] || fail "Debian builds gmx_mpi with Open MPI"
    needs gmx_mpi gromacs
    cd "$work"
    cat > grompp.mdp <<TEXT
integrator = md
nsteps = $((ranks < 256 ? 80 : 20))
dt = 0.002
nstcalcenergy = 10
nstenergy = 20
nstlist = 10
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
fourierspacing = 0.12
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
constraints = h-bonds
TEXT
    cat > topol.top <<'TEXT'
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
TEXT
    { gmx solvate -cs spc216.gro -box 6.5 6.5 6.5 -o conf.gro -p topol.top && gmx grompp -maxwarn 2; } > log 2>&1 ||
        { tail log; fail "gmx cannot prepare the box"; }
    record gmx_mpi mdrun -s topol.tpr -ntomp 1 -npme $((ranks < 512 ? ranks / 4 : 64)) -dlb no -notunepme -pin off
    ;;
hpl) hpcc RunHPL $((ranks < 256 ? 8 * ranks : 2048)) ;;
randomaccess) hpcc RunMPIRandomAccess $((ranks < 512 ? 256 : 1024)) ;;
lulesh)
    [ $# = 2 ] || ranks=125
    launch[-1]=$ranks
    copy LULESH https://github.com/LLNL/LULESH 3e01c40b3281aadb7f996525cdd4a3354f6d3801
    cd "$work/LULESH"
    "mpicxx.$mpi" -O2 -DUSE_MPI=1 -o lulesh ./*.cc
    record ./lulesh -s 5 -i 20
    ;;
minife)
    copy miniFE https://github.com/Mantevo/miniFE c79e0f7f7afdd6c8191936efce7a668316159cc3
    cd "$work/miniFE/ref/src"
    sed -i 's/max_iters = 200/max_iters = 50/' driver.hpp
    make CFLAGS=-O2 CXX="mpicxx.$mpi" CC="mpicc.$mpi" > "$work/log" 2>&1 || { tail "$work/log"; fail "miniFE does not build"; }
    record ./miniFE.x -nx 64 -ny 64 -nz 64
    ;;
amg)
    [ $((ranks % 16)) = 0 ] || fail "amg needs a multiple of 16 ranks"
    copy AMG https://github.com/LLNL/AMG 3ada8a128e311543e84d9d66344ece77924127a8
    cd "$work/AMG"
    make CC="mpicc.$mpi" INCLUDE_LFLAGS=-lm \
        INCLUDE_CFLAGS='-O2 -DTIMER_USE_MPI -DHYPRE_HOPSCOTCH -DHYPRE_USING_PERSISTENT_COMM -DHYPRE_BIGINT' > "$work/log" 2>&1 ||
        { tail "$work/log"; fail "AMG does not build"; }
    record ./test/amg -P $((ranks / 16)) 4 4 -n 4 4 4 -problem 1
    ;;
cg | ft | lu) npb "$app" ;;
leanmd)
    # Charm++ is built once, in its own directory, with the mpicxx in PATH: about 20 minutes of processor time.
    # Versions before 8 are for academic use only.
    charm=$sources/charm
    [ -x "$charm/mpi-linux-x86_64/bin/charmc" ] || fail "no Charm++ in $charm:
  git clone --branch v8.0.1 https://github.com/UIUC-PPL/charm $charm
  (cd $charm && ./build charm++ mpi-linux-x86_64 --with-production)"
    cp "$charm"/examples/charm++/leanmd/* "$work"
    cd "$work"
    PATH=$charm/mpi-linux-x86_64/bin:$PATH
    charmc leanmd.ci
    for part in Main Cell Compute; do charmc -O2 -o $part.o -c $part.C; done
    charmc -O2 -language charm++ -o leanmd Main.o Cell.o Compute.o
    cells=$((ranks < 512 ? 5 : 8))
    record ./leanmd $cells $cells $cells 2
    ;;
*) usage ;;
esac
