/** Fifteen projects, each made as its user would make it: with the real tool, in a folder of theirs. */

export interface RealProject {
  readonly name: string;
  /** Folders of HOME in PATH. */
  readonly paths?: readonly string[];
  /** A bash script, in the empty repository. What git does not ignore is committed afterwards. */
  readonly make: string;
  readonly ignored: readonly string[];
  /** How its user runs the tests. */
  readonly test: string;
  readonly says: string;
  readonly brings: readonly string[];
}

const NODE_TEST = `cat > test.js <<'END'
const isOdd = require('is-odd');
if (!isOdd(3)) process.exit(1);
console.log('tests passed');
END`;
const NPM = 'npm install --no-audit --no-fund --loglevel=error';

const node: readonly RealProject[] = [
  {
    name: 'npm',
    ignored: ['node_modules'],
    make: `npm init -y >/dev/null; npm pkg set scripts.test='mocha test.js' >/dev/null; ${NPM} is-odd@3 mocha@11
cat > test.js <<'END'
const isOdd = require('is-odd');
it('is odd', () => { if (!isOdd(3)) throw new Error('even'); });
END`,
    test: 'npm test',
    says: '1 passing',
    brings: ['node_modules'],
  },
  {
    name: 'pnpm workspaces',
    paths: ['.npm-global/bin'],
    ignored: ['node_modules'],
    make: `npm_config_prefix=~/.npm-global ${NPM} -g pnpm
mkdir -p packages/app packages/lib; echo 'packages: ["packages/*"]' > pnpm-workspace.yaml
echo '{"name":"all","private":true,"scripts":{"test":"pnpm -r test"}}' > package.json
echo '{"name":"lib","version":"1.0.0","main":"lib.js","dependencies":{"is-odd":"3.0.1"}}' > packages/lib/package.json
echo 'module.exports = require("is-odd")(3) ? "tests passed" : "";' > packages/lib/lib.js
echo '{"name":"app","version":"1.0.0","dependencies":{"lib":"workspace:*"},"scripts":{"test":"node -p \\"require(\\\\\\"lib\\\\\\")\\""}}' > packages/app/package.json
pnpm install`,
    test: 'pnpm test',
    says: 'tests passed',
    brings: ['node_modules', 'packages/app/node_modules', 'packages/lib/node_modules'],
  },
  {
    name: 'Yarn PnP',
    paths: ['.npm-global/bin'],
    ignored: ['.pnp.*', '.yarn/*'],
    make: `npm_config_prefix=~/.npm-global ${NPM} -g @yarnpkg/cli-dist
echo '{"name":"pnp","scripts":{"test":"node test.js"}}' > package.json; touch yarn.lock
yarn add is-odd@3.0.1
${NODE_TEST}`,
    test: 'yarn test',
    says: 'tests passed',
    brings: ['~/.yarn/berry/cache'],
  },
];

const python: readonly RealProject[] = [
  {
    name: 'Python with a virtual environment',
    ignored: ['.venv', '__pycache__', '*.egg-info', 'build'],
    make: `python3 -m venv .venv
printf 'from setuptools import setup\\nsetup(name="halves", py_modules=["halves"])\\n' > setup.py
echo 'def half(n): return n // 2' > halves.py
printf 'import unittest, halves\\nclass T(unittest.TestCase):\\n  def test(self): self.assertEqual(halves.half(4), 2)\\n' > test_halves.py
.venv/bin/pip install -q --no-index --no-build-isolation -e .`,
    test: '.venv/bin/python -m unittest -v',
    says: 'OK',
    brings: ['.venv'],
  },
  {
    name: 'Python from a source package of Debian',
    ignored: ['venv', '__pycache__', '*.egg-info', '.pytest_cache'],
    make: `tar xf "$CAISSON_PROJECT_SOURCES"/toolz_*.orig.tar.* --strip-components=1
python3 -m venv --system-site-packages venv; venv/bin/pip install -q --no-index --no-build-isolation --no-deps -e .`,
    test: 'venv/bin/python -m pytest -q toolz/tests/test_itertoolz.py',
    says: ' passed',
    brings: ['venv'],
  },
];

const compiled: readonly RealProject[] = [
  {
    name: 'Rust with crates of Debian',
    ignored: ['target'],
    make: `mkdir -p src .cargo
printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' > .cargo/config.toml
printf '[package]\nname = "digits"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\nitoa = "1"\n' > Cargo.toml
printf '#[test]\nfn digits() { assert_eq!(itoa::Buffer::new().format(42), "42"); }\n' > src/lib.rs
cargo build -q`,
    test: 'cargo test',
    says: 'test result: ok. 1 passed',
    brings: ['target'],
  },
  {
    name: 'Rust from a source package of Debian',
    ignored: ['target', 'Cargo.lock'],
    make: 'cp -r /usr/share/cargo/registry/fnv-1*/. .; rm -f .cargo-checksum.json',
    test: 'cargo test --lib',
    says: 'test result: ok.',
    brings: [],
  },
  {
    name: 'Rust with a git dependency',
    ignored: ['target'],
    make: `(mkdir -p ~/src/dep/src; cd ~/src/dep; git init -q
printf '[package]\nname = "dep"\nversion = "1.0.0"\nedition = "2021"\n' > Cargo.toml; echo 'pub fn six() -> u8 { 6 }' > src/lib.rs
git add .; git -c user.name=D -c user.email=d@example.invalid commit -qm dep)
mkdir src; echo '#[test] fn is_six() { assert_eq!(dep::six(), 6); }' > src/lib.rs
printf '[package]\nname = "user"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\ndep = { git = "file://%s" }\n' ~/src/dep > Cargo.toml
cargo fetch -q`,
    test: 'cargo test',
    says: 'test result: ok. 1 passed',
    brings: ['~/.cargo/git/checkouts', '~/.cargo/git/db'],
  },
  {
    name: 'Go without dependencies',
    ignored: [],
    make: `tar xf "$CAISSON_PROJECT_SOURCES"/golang-github-google-uuid_*.orig.tar.* --strip-components=1; go vet . `,
    test: 'go test ./...',
    says: 'ok',
    brings: ['~/.cache/go-build'],
  },
  {
    name: 'Go with vendor',
    ignored: ['vendor'],
    make: `mkdir uuid; tar xf "$CAISSON_PROJECT_SOURCES"/golang-github-google-uuid_*.orig.tar.* --strip-components=1 -C uuid; mv uuid ~/src-uuid
printf 'module example.invalid/ids\ngo 1.19\nrequire github.com/google/uuid v1.3.0\nreplace github.com/google/uuid => %s\n' ~/src-uuid > go.mod
printf 'package ids\nimport ("testing"; "github.com/google/uuid")\nfunc TestIds(t *testing.T) { if len(uuid.New().String()) != 36 { t.Fatal() } }\n' > ids_test.go
go mod vendor`,
    test: 'go test ./...',
    says: 'ok',
    brings: ['vendor'],
  },
];

const POM = `<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>app</artifactId><version>1</version>
<properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency></dependencies>
</project>`;
const JAVA = `mkdir -p src/main/java src/test/java
echo 'public class App { static int half(int n) { return n / 2; } }' > src/main/java/App.java
echo 'public class AppTest { @org.junit.Test public void half() { org.junit.Assert.assertEquals(2, App.half(4)); } }' > src/test/java/AppTest.java`;

const java: readonly RealProject[] = [
  {
    name: 'Java with Maven',
    ignored: ['target'],
    make: `${JAVA}; mkdir -p ~/.m2; cp -rL /usr/share/maven-repo ~/.m2/repository
cat > pom.xml <<'END'
${POM}
END
mvn -q -o compile`,
    test: 'mvn -o test',
    says: 'BUILD SUCCESS',
    brings: ['target', '~/.m2/repository'],
  },
  {
    name: 'Java with Gradle',
    ignored: ['build', '.gradle'],
    make: `${JAVA}
cat > build.gradle <<'END'
apply plugin: 'java'
repositories { maven { url 'file:///usr/share/maven-repo' } }
dependencies { testCompile 'junit:junit:4.x' }
END
gradle -q --offline --no-daemon compileJava`,
    test: 'gradle --offline test',
    says: 'BUILD SUCCESSFUL',
    brings: ['build', '~/.gradle/caches'],
  },
];

const large: readonly RealProject[] = [
  {
    name: 'a monorepo of 5,000 files',
    ignored: ['node_modules'],
    make: `echo '{"name":"all","private":true,"workspaces":["packages/*"],"scripts":{"test":"node test.js"}}' > package.json
for n in $(seq 250); do mkdir -p packages/p$n/src; echo '{"name":"p'$n'","version":"1.0.0","main":"src/f1.js"}' > packages/p$n/package.json
for f in $(seq 19); do echo "module.exports = $n" > packages/p$n/src/f$f.js; done; done
echo 'let sum = 0; for (let n = 1; n <= 250; n++) sum += require("p" + n); console.log("sum", sum)' > test.js
npm install --no-audit --no-fund --offline --loglevel=error`,
    test: 'npm test',
    says: 'sum 31375',
    brings: ['node_modules'],
  },
  {
    name: 'a repository with submodules',
    ignored: [],
    make: `(mkdir -p ~/src/lib; cd ~/src/lib; git init -q; echo 'module.exports = require("six") + 1' > index.js; echo '{"name":"lib"}' > package.json; echo node_modules > .gitignore
git add .; git -c user.name=D -c user.email=d@example.invalid commit -qm lib)
git -c protocol.file.allow=always submodule --quiet add ~/src/lib libs/lib
mkdir -p libs/lib/node_modules/six; echo 'module.exports = 6' > libs/lib/node_modules/six/index.js
echo 'console.log(require("./libs/lib") * 6)' > test.js; echo '{"name":"app","scripts":{"test":"node test.js"}}' > package.json`,
    test: 'npm test',
    says: '42',
    brings: ['libs/lib/node_modules'],
  },
  {
    name: '600 MB of ignored folders',
    ignored: ['node_modules', 'target', 'data'],
    make: `echo '{"name":"big","scripts":{"test":"node test.js"}}' > package.json; echo '[package]' > Cargo.toml
mkdir -p node_modules/big target/debug; for n in $(seq 30); do mkdir node_modules/p$n; for f in $(seq 300); do echo $n > node_modules/p$n/f$f.js; done; done
for n in $(seq 4); do head -c 100M /dev/zero > node_modules/big/$n.bin; done; head -c 200M /dev/zero > target/debug/app
echo 'console.log(require("fs").readdirSync("node_modules").length, "packages")' > test.js`,
    test: 'npm test',
    says: '31 packages',
    brings: ['node_modules', 'target'],
  },
];

export const PROJECTS: readonly RealProject[] = [...node, ...python, ...compiled, ...java, ...large];
