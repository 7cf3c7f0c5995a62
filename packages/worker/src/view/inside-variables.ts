/** Environment that is the same in every sandbox. */

/** Programs that wait for a terminal or a pager would hang; these settings prevent that. */
export const QUIET_PROGRAMS: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/true',
  GH_PROMPT_DISABLED: '1',
  DEBIAN_FRONTEND: 'noninteractive',
  // A first bash reads ~/.bashrc even for `-c` when its stdin is a socket, as Node's pipes are; a second one does not.
  // A hook runs in such a shell, and the agent can write HOME.
  SHLVL: '1',
};

/** Without a network another try changes nothing; npm alone would wait 70 seconds between its tries. */
export const NO_RETRIES: Readonly<Record<string, string>> = {
  npm_config_fetch_retries: '0',
  YARN_HTTP_RETRY: '0',
  PIP_RETRIES: '0',
  UV_HTTP_RETRIES: '0',
  CARGO_NET_RETRY: '0',
};

/** How programs find the proxy on this port, inside. */
export function proxyVariables(port: number): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`;
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: '127.0.0.1,localhost',
    NODE_USE_ENV_PROXY: '1',
  };
}
