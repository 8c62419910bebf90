import { PatternError } from './parse.ts';
import type { Assertion, CharTest, Pattern } from './syntax.ts';

export type Instruction =
  | { readonly op: 'char'; readonly test: CharTest }
  /** Goes on at both places, and prefers the first. */
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'assert'; readonly what: Assertion }
  | { readonly op: 'match' };

/** What one character of the text can cost at most. */
const MOST_INSTRUCTIONS = 5000;

/** Compiles a pattern. Counted repetitions are written out, so a program has a bound. */
export function programOf(pattern: Pattern): readonly Instruction[] {
  const program: Instruction[] = [];
  const emit = <T extends Instruction>(instruction: T): T => {
    if (program.length >= MOST_INSTRUCTIONS) throw new PatternError('this pattern is too large');
    program.push(instruction);
    return instruction;
  };
  const compile = (part: Pattern): void => {
    switch (part.kind) {
      case 'empty':
        return;
      case 'char':
        emit({ op: 'char', test: part.test });
        return;
      case 'assert':
        emit({ op: 'assert', what: part.what });
        return;
      case 'sequence':
        part.parts.forEach(compile);
        return;
      case 'group':
        emit({ op: 'save', slot: part.slot * 2 });
        compile(part.of);
        emit({ op: 'save', slot: part.slot * 2 + 1 });
        return;
      case 'choice':
        compileChoice(part.options);
        return;
      case 'repeat':
        compileRepeat(part);
    }
  };
  const compileChoice = (options: readonly Pattern[]): void => {
    const [option, ...others] = options;
    if (option === undefined) return;
    if (others.length === 0) {
      compile(option);
      return;
    }
    const split = emit({ op: 'split', first: program.length + 1, second: 0 });
    compile(option);
    const jump = emit({ op: 'jump', to: 0 });
    split.second = program.length;
    compileChoice(others);
    jump.to = program.length;
  };
  const compileRepeat = ({ of, least, most, greedy }: Pattern & { readonly kind: 'repeat' }): void => {
    for (let i = 0; i < least; i++) compile(of);
    const optional = (body: () => void): void => {
      const split = emit({ op: 'split', first: 0, second: 0 });
      const inside = program.length;
      body();
      const [first, second] = greedy ? [inside, program.length] : [program.length, inside];
      split.first = first;
      split.second = second;
    };
    if (Number.isFinite(most)) {
      const nested = (left: number): void => {
        if (left > 0) {
          optional(() => {
            compile(of);
            nested(left - 1);
          });
        }
      };
      nested(most - least);
    } else {
      const start = program.length;
      optional(() => {
        compile(of);
        emit({ op: 'jump', to: start });
      });
    }
  };
  emit({ op: 'save', slot: 0 });
  compile(pattern);
  emit({ op: 'save', slot: 1 });
  emit({ op: 'match' });
  return program;
}
