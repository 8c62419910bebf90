/** What the beginning of a stored step tells, so that a list of steps need not read what they gave. */
export interface StepHead {
  readonly n: number;
  readonly step: number;
  readonly state: string;
  readonly via: readonly string[];
  readonly passed: readonly string[];
}

const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const LIST = String.raw`\[(?:${TEXT},?)*\]`;
/** The order in which `RunHistory` writes the fields. */
const HEAD = new RegExp(
  String.raw`^\{"n":(\d{1,15}),"step":(\d{1,15}),"state":(${TEXT})(?:,"via":(${LIST}))?(?:,"passed":(${LIST}))?`,
);

/** Undefined: it is something else. */
export function stepHead(text: string): StepHead | undefined {
  const [, n, step, state, via, passed] = HEAD.exec(text) ?? [];
  if (n === undefined || step === undefined || state === undefined) return undefined;
  try {
    return {
      n: Number(n),
      step: Number(step),
      state: JSON.parse(state) as string,
      via: listIn(via),
      passed: listIn(passed),
    };
  } catch {
    return undefined;
  }
}

const listIn = (text: string | undefined): readonly string[] =>
  text === undefined ? [] : (JSON.parse(text) as string[]);
