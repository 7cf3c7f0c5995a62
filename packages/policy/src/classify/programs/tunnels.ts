/** A tunnel by which others reach a shell of this machine; one to a development web server does not count. */
export function opensMachine(name: string, args: readonly string[]): boolean {
  const words = args.join(' ');
  if (name === 'ngrok') return /^(tcp|start --all)\b/.test(words);
  if (name === 'cloudflared') return /--url[= ](ssh|tcp|rdp|smb):/.test(words);
  return name === 'ssh' && /(^|\s)-\w*R\s?\S*:22(\s|$)/.test(words);
}
