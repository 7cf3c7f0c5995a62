/** What the line itself put into files, so that running one of them later is running that text. */
export class WrittenFiles {
  private readonly contents = new Map<string, string>();

  get(path: string): string | undefined {
    return this.contents.get(bare(path));
  }

  set(path: string, content: string): void {
    this.contents.set(bare(path), content);
  }
}

function bare(path: string): string {
  return path.replace(/^(\.\/)+/, '');
}
