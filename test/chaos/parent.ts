import type { Word } from './children.ts';

/** The child's side of the line to its test: a child whose test is gone has nothing left to do. */
process.on('disconnect', () => process.exit(0));

export function say(word: Word): void {
  process.send?.(word);
}

export function hear(word: string): Promise<Word> {
  return new Promise((resolve) => {
    const listen = (heard: unknown): void => {
      if ((heard as Word).word !== word) return;
      process.off('message', listen);
      resolve(heard as Word);
    };
    process.on('message', listen);
  });
}

/** Says the last word and goes, once it is on its way. */
export function leave(word: Word): void {
  process.send?.(word, () => process.exit(0));
}
