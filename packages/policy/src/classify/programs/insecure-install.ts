/** Packages fetched where anyone on the way can replace them: plain http, or a host that is trusted without a check. */
import { hit, type Hit } from '../finding.ts';

const INSTALLERS =
  /^(?:pip[\d.]*|pipx|uv|uvx|poetry|pdm|pipenv|conda|mamba|npm|npx|pnpm|pnpx|yarn|bun|bunx|gem|bundle|bundler|go|cargo|composer|helm|nuget|dotnet|luarocks|cpanm|easy_install|apk|mvn|gradle|deno)$/;
const OWN = String.raw`(?:localhost|127\.|\[::1\]|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|host\.docker\.internal|[\w-]+(?::|\/|$)|[\w.-]+\.(?:local|localhost|test|internal|lan)(?::|\/|$))`;
const PLAIN = new RegExp(String.raw`^(?:[\w+-]+=|git\+)?http:\/\/(?!${OWN})`);
const KNOWN_HOST = new RegExp(
  String.raw`^(?:pypi\.org|files\.pythonhosted\.org|pypi\.python\.org|registry\.npmjs\.org|${OWN})`,
);
const FETCHES =
  /^(?:install|i|add|ci|get|download|sync|config|sources?|source|repo|exec|dlx|run|tool|global|update|upgrade|require|pip|env)$/;

/** An installer with such a source; null when not. */
export function judgeInstall(name: string, args: readonly string[]): Hit | null {
  if (!INSTALLERS.test(name)) return null;
  const verb = args.find((arg) => !arg.startsWith('-')) ?? '';
  if (!FETCHES.test(verb) && !/^(?:npx|bunx|pnpx|uvx|cpanm|easy_install)$/.test(name)) return null;
  const isPlain = args.some((arg) => PLAIN.test(arg) || PLAIN.test(arg.replace(/^--?[\w-]+=/, '')));
  const trusts = args.some((arg, index) => {
    const host =
      /^--(?:trusted-host|allow-insecure-host)=(.+)$/.exec(arg)?.[1] ??
      (/^--(?:trusted-host|allow-insecure-host)$/.test(args[index - 1] ?? '') ? arg : null);
    return host !== null && !KNOWN_HOST.test(host);
  });
  const weakens =
    /\b(?:GOINSECURE|GONOSUMDB|GONOSUMCHECK|GOFLAGS=-insecure|GOSUMDB=off)\b/.test(args.join(' ')) ||
    /\bstrict-ssl[= ]false\b/.test(args.join(' '));
  return isPlain || trusts || weakens ? hit('bash_destructive', 'insecure-install') : null;
}

/** The same by a setting: `PIP_INDEX_URL=http://… pip install x`. */
export function pointsElsewhere(name: string, value: string): boolean {
  return (
    /^(?:PIP_(?:EXTRA_)?INDEX_URL|UV_(?:EXTRA_|DEFAULT_)?INDEX(?:_URL)?|npm_config_registry|NPM_CONFIG_REGISTRY|YARN_(?:NPM_)?REGISTRY\w*|GOPROXY|GEM_SOURCE|BUNDLE_MIRROR\w*)$/.test(
      name,
    ) && PLAIN.test(value)
  );
}
