/** How the value of a setting is read from its text. */

export type Read<T> = (text: string, list?: readonly string[]) => T | Wrong;

/** What is wrong, apart from values that are texts. */
export class Wrong {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

export function oneOf<T extends string>(values: readonly T[]): Read<T> {
  return (text) => values.find((value) => value === text) ?? new Wrong(`one of ${values.join(', ')} is expected`);
}

export function yesOrNo(text: string): boolean | Wrong {
  if (/^(?:true|1|yes|y|on)$/i.test(text)) return true;
  if (/^(?:false|0|no|n|off)$/i.test(text)) return false;
  return new Wrong('true or false is expected');
}
