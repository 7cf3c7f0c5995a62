/** The names under which refs of an agent are saved. */
import type { Clean } from './clean-commits.ts';

const REF_NAME = /^(?!.*(\.\.|@\{|\/\/|\.lock(\/|$)|\/\.))[\w][\w./+@=,-]*(?<![./])$/;

/** Names that our refs cannot have become `branch-N`: odd ones, and those of which one is a folder of another. */
export function createNaming(
  prefix: string,
  clean: Clean | null,
): (name: string) => { ref: string; isOther: boolean } {
  const taken: string[] = [];
  const isFree = (wanted: string): boolean =>
    taken.every(
      (name) => name !== wanted && !name.startsWith(`${wanted}/`) && !wanted.startsWith(`${name}/`),
    );
  return (name) => {
    const plain = name.replace(/^refs\/(heads\/)?/, '');
    const wanted = clean === null ? plain : cleanName(plain, clean);
    let unused = wanted;
    for (let count = 1; !REF_NAME.test(unused) || !isFree(unused); count++) unused = `branch-${count}`;
    taken.push(unused);
    return { ref: prefix + unused, isOther: unused !== wanted };
  };
}

/** A ref in words, without secrets. */
export function showName(name: string, clean: Clean | null): string {
  const bytes = Buffer.from(name.replace(/^refs\/heads\//, 'branch '), 'latin1');
  const text = (clean === null ? bytes : clean(bytes)).toString('utf8');
  return text.replaceAll(/\p{C}/gu, '?');
}

/** A mark has characters that no ref may have. */
function cleanName(name: string, clean: Clean): string {
  const cleaned = clean(Buffer.from(name)).toString('utf8');
  const plain = cleaned.replaceAll(/\[redacted:([^\]]*)\]/g, 'redacted-$1');
  return cleaned === name ? name : plain.replaceAll(/[^\w./+@=,-]+/g, '-');
}
