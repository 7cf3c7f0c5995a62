/**
 * The words with which unlisted programs destroy: `flyway clean`, `pm2 delete all`, `dokku apps:destroy`. One
 * vocabulary for every tool with sub-commands, for targets of `make` and for scripts of a package.
 */

/** Destroys its operand, in any tool. */
const GRAVE = new Set(
  'delete destroy purge drop wipe erase nuke terminate truncate obliterate decommission annihilate unpublish undeploy teardown zap zeroize shred deltree dropall deleteall rmtree rmdir expunge eradicate flushall flushdb forcedelete selfdestruct rollbackall stopall killall rdelete unsubscribe deletefile'.split(
    ' ',
  ),
);
/** Destroys in most tools; in a package manager it edits a list of dependencies. */
const REMOVES = new Set('rm remove del uninstall delete-all rmi unregister abandon undefine'.split(' '));
/** Harmless by itself, grave with an option that means everything. */
const RESETS = new Set(
  'reset prune clean clear flush rollback undo downgrade revert kill stop revoke disable deactivate detach empty format expire forget evict drain cancel fresh recreate reinit clean-all leave'.split(
    ' ',
  ),
);
const ALL_THE_WAY =
  /^(-[a-z]*f[a-z]*|-y|-a|--force\S*|--yes|--all\S*|--auto-approve|--no-?confirm|--no-?prompts?|--assume-yes|--hard|--recursive|--purge|--volumes|--skip-confirmation|--confirm\S*|--delete-data|--really|--i-am-sure|--yes-i-really-mean-it|all|base|zero)$/;
/** What is reset with a database, a cluster or a production is data. */
const DATA =
  /^(flyway|liquibase|hibernate|doctrine|prisma|sequelize|typeorm|knex|alembic|db|dbs|database|databases|schema|data|datastore|tables?|prod|production|cluster|storage|volumes?|migrations?|migrate|ecto|pg|redis|mongo|queues?|topics?|index|indices|backups?|snapshots?|disk|device)$/;
const HARMLESS_TOKEN =
  /^(tests?|specs?|lint|check|list|show|describe|get|no|dry|dryrun|generate|make|create|add|new|search|find|view|plan|preview|soft|undelete|help|docs?|explain|mock|fixture|example|demo|logs?|cache|caches|typecheck|coverage)$/;
const TRIES_OUT =
  /^(tests?|specs?|lint|check|dry|dryrun|mock|fixture|fixtures|example|demo|preview|cache|caches)$/;
/** `remove-secret`, `clear_permissions`, `revoke-token`. */
const TAKES_AWAY = /^(remove|rm|clear|revoke|disable|unset|reset|detach|deregister|unregister|unsubscribe)$/;
const ACCESS =
  /^(secrets?|permissions?|access|users?|members?|tokens?|policy|policies|keys?|roles?|acls?|grants?|password|runner|runners|vhost|subscription|mfa|auth|firewall|backups?|nodes?)$/;
/** A sub-command after which a word like `delete` is what to look for, make or test, not an order. */
const HARMLESS_VERB =
  /^(tests?|t|spec|bench|lint|check|search|find|grep|info|show|describe|explain|docs?|man|help|view|list|ls|generate|g|new|create|add|install|i|why|get|log|diff|plan|preview|validate|build|fmt|format|completion|stop-list|can-i|wait|query|ask|chat|commit|ci|note|tag|label)$/;
/** Options whose value is prose or a pattern. */
const PROSE_OPTION =
  /^(-k|-t|-m|-n|-g|-q|-run|-R|-E|--(run|grep|filter|name|title|body|message|description|test-?name-?pattern|match|tests|tag|label|branch|query|search|pattern|text|comment|subject|reason|scenario|format|template|example|bin|test|bench|package|target|task-name|workspace))$/;
/** Tools for which `remove` means a dependency, a tool version or a plugin. */
const PACKAGE_MANAGERS =
  /^(npm|pnpm|yarn|bun|deno|jsr|cargo|go|pip[\d.]*|pip3|uv|poetry|pdm|pipenv|pipx|rye|hatch|conda|mamba|micromamba|gem|bundle|bundler|composer|dotnet|nuget|mix|hex|rebar3|opam|cabal|stack|nimble|luarocks|raco|ghcup|rustup|nvm|fnm|volta|n|asdf|mise|rtx|pyenv|rbenv|nodenv|goenv|jenv|sdk|sdkman|flutter|dart|pub|swift|pod|carthage|vcpkg|conan|spack|code|codium|pre-commit|husky|lerna|nx|ng|expo|shadcn|helm|krew|tlmgr|cpan|cpanm|elm|julia|gradle|gradlew|mvn|ctags|turbo|tuist|mint|shards|haxelib|dub|lake|devbox|nix|guix|direnv|gh-extension|changeset|storybook|sv|cmake|ninja|bazel|buck|buck2|pants|please|scons|meson|ant|sbt|lein|clj|watchman|xcodebuild)$/;

/** Whether a word, read part by part (`db:drop`, `delete-stack`, `dropAll`), orders a destruction. */
export function ordersDestruction(word: string): boolean {
  if (GRAVE.has(word)) return true;
  if (!/^[A-Za-z][\w:.-]*$/.test(word) || FILE_NAME.test(word)) return false;
  const tokens = word
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[:._-]+/)
    .filter((token) => token !== '');
  const [first = ''] = tokens;
  const last = tokens.at(-1) ?? '';
  if (tokens.length === 0 || tokens.length > 4 || HARMLESS_TOKEN.test(first)) return false;
  if (tokens.some((token) => TRIES_OUT.test(token))) return false;
  if (TAKES_AWAY.test(first) && ACCESS.test(last)) return true;
  if (GRAVE.has(first) || GRAVE.has(last)) return true;
  // `messages:remove`, of tools that put the verb last.
  if (/^[\w:-]+:(remove|rm)$/.test(word)) return true;
  // `db:drop:all`
  if (DATA.test(first) && tokens.some((token) => GRAVE.has(token))) return true;
  return (
    tokens.length > 1 &&
    tokens.some((token) => DATA.test(token)) &&
    !STEPS_BACK.test(last) &&
    (RESETS.has(last) || RESETS.has(first) || REMOVES.has(last) || REMOVES.has(first))
  );
}

/** One migration back is everyday work; all of them is another word. */
const STEPS_BACK = /^(rollback|undo|downgrade|revert|down|stop|cancel)$/;
const FILE_NAME =
  /\.(py|[cm]?[jt]sx?|sh|bash|sql|json|md|txt|rb|go|rs|ya?ml|toml|xml|html?|s?css|c|h|cc|cpp|java|kt|php|log|csv|tsv|lock|ini|cfg|conf|env|png|jpe?g|svg|pdf|zip|t?gz|tar|db|sqlite3?|proto|tf|ipynb|exs?|lua|pl|swift|cs)$/i;

/**
 * The word of a command that orders a destruction, or null. Looks where tools have their verbs:
 * at the first few words that are neither options nor prose.
 */
export function findDestructiveVerb(name: string, args: readonly string[]): string | null {
  if (args.includes('--help')) return null;
  const words = verbWords(args);
  const goesAllTheWay = args.some((arg) => ALL_THE_WAY.test(arg));
  const isPackageManager = PACKAGE_MANAGERS.test(name);
  for (const [index, word] of words.entries()) {
    if (HARMLESS_VERB.test(word) || /(^|[:._-])(gen|generate|make|create|new|add)([:._-]|$)/.test(word))
      return null;
    if (/^caches?$/.test(words[index - 1] ?? '')) continue;
    if (ordersDestruction(word)) return word;
    const isLast = index === words.length - 1 && index > 0;
    if (REMOVES.has(word) && !isPackageManager && !isLast) return word;
    if (REMOVES.has(word) && args.some((arg) => /^(--all|-a)$/.test(arg))) return word;
    if (RESETS.has(word) && !isPackageManager && (goesAllTheWay || DATA.test(words[index - 1] ?? '')))
      return word;
  }
  return null;
}

function verbWords(args: readonly string[]): string[] {
  const words: string[] = [];
  for (const [index, arg] of args.entries()) {
    if (words.length === 5 || arg === '--') break;
    if (!/^[A-Za-z][\w:.-]*$/.test(arg) || PROSE_OPTION.test(args[index - 1] ?? '')) continue;
    words.push(arg);
  }
  return words;
}

/** `psql -f drop-all.sql`: the content is not on the line, but the name says what it does. */
export function namesLoss(path: string): boolean {
  return /(^|[/_.-])(drop|truncate|wipe|nuke|destroy|purge|teardown|delete[_-]all|reset[_-]?(db|database|all))([_-]\w+)*\.(sql|sh|js|psql|cql|ya?ml|py|rb)$|(^|\/)reset\.sql$/i.test(
    path,
  );
}
