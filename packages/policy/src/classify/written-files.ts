/** What the line itself put into files, so that running one of them later is running that text. */
export class WrittenFiles {
  private readonly contents = new Map<string, string>();
  private readonly marks = new Map<string, string>();

  get(path: string): string | undefined {
    return this.contents.get(bare(path));
  }

  set(path: string, content: string): void {
    this.contents.set(bare(path), content);
  }

  /** What is known of a file's content besides its text: that it holds a secret, or a whole store. */
  marksOf(path: string): string {
    return this.marks.size === 0 ? '' : (this.marks.get(bare(path)) ?? '');
  }

  get hasMarks(): boolean {
    return this.marks.size > 0;
  }

  mark(path: string, marks: string): void {
    if (marks !== '') this.marks.set(bare(path), this.marksOf(path) + marks);
  }
}

function bare(path: string): string {
  return path.replace(/^(\.\/)+/, '');
}
