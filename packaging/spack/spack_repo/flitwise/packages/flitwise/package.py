from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Flitwise(CargoPackage):
    """Flitwise replays recorded MPI applications through a flit-exact model of an HPC fabric
    (Omni-Path-style or InfiniBand-style). It reports execution times, slowdowns and latencies,
    and explains which links, packets and waits cause them."""

    license("MIT OR Apache-2.0")

    # No public address yet: build from a clone with `spack dev-build`, see packaging/README.md.
    version("0.1.0")

    variant("python", default=True, description="Install the Python package that reads results")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    extends("python", when="+python")

    @property
    def build_args(self):
        return ["--locked", "--profile", "dist"]

    @property
    def check_args(self):
        return ["--locked", "--workspace"]

    @run_after("install")
    def install_python_package(self):
        if self.spec.satisfies("+python"):
            install_tree(join_path(self.stage.source_path, "python", "src"), python_platlib)

    @run_after("install")
    def install_pages_and_completions(self):
        flitwise = Executable(self.prefix.bin.flitwise)
        flitwise("man", "--out", self.prefix.share.man.man1)
        for shell, folder, name in (
            ("bash", bash_completion_path(self.prefix), "flitwise"),
            ("fish", fish_completion_path(self.prefix), "flitwise.fish"),
            ("zsh", zsh_completion_path(self.prefix), "_flitwise"),
        ):
            mkdirp(folder)
            with open(join_path(folder, name), "w") as file:
                flitwise("completions", shell, output=file)

    def test_version(self):
        """the program starts and says its version"""
        flitwise = which(self.prefix.bin.flitwise)
        assert str(self.spec.version) in flitwise("--version", output=str.split, error=str.split)
