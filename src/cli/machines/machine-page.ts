import type { Outline, OutlinedState } from '../../app/machines.ts';
import type { Paint } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { widthOf } from '../display/width.ts';

const SYMBOLS = { state: '○', initial: '▶', final: '■' } as const;

/** A machine for a terminal: each state with what it does, and below it where it leads. */
export function machineLines({ name, specVersion, states }: Outline, paint: Paint): readonly string[] {
  const about = [specVersion === '' ? 'flatmachine' : `flatmachine ${specVersion}`, count(states.length, 'state')];
  return [
    `${paint('bold', safeLine(name))}  ${paint('dim', safeLine(about.join(', ')))}`,
    ...states.flatMap((state) => ['', ...stateLines(state, paint)]),
  ];
}

function stateLines(state: OutlinedState, paint: Paint): readonly string[] {
  const kind = state.final ? 'final' : state.initial ? 'initial' : 'state';
  const colour = kind === 'initial' ? 'cyan' : kind === 'final' ? 'green' : 'blue';
  const words = [state.initial && 'initial', state.final && 'final', !state.reachable && 'no way leads here'];
  const remarks = words.filter((word) => word !== false).join(', ');
  const verbs = Math.max(0, ...state.does.map(([verb]) => verb.length));
  const moves = movesOf(state);
  const names = Math.max(0, ...moves.map(({ to }) => widthOf(to)));
  return [
    `${paint(colour, SYMBOLS[kind])} ${paint('bold', safeLine(state.name))}${remarks && `  ${paint('dim', remarks)}`}`,
    ...state.does.map(([verb, what]) => `    ${paint('dim', verb.padEnd(verbs))}  ${safeLine(what)}`),
    ...moves.map(({ to, why, error }) => {
      const arrow = error ? paint('yellow', '!') : paint('cyan', '→');
      const gap = ' '.repeat(names - widthOf(to));
      return `  ${arrow} ${to}${why === '' ? '' : `${gap}  ${paint('dim', why)}`}`;
    }),
  ];
}

function movesOf({ transitions, errors }: OutlinedState): readonly { to: string; why: string; error: boolean }[] {
  const conditional = transitions.some(({ when }) => when !== undefined);
  return [
    ...transitions.map(({ to, when }) => ({
      to: safeLine(to),
      why: when === undefined ? (conditional ? 'otherwise' : '') : safeLine(`if ${when}`),
      error: false,
    })),
    ...errors.map(({ to, type }) => ({
      to: safeLine(to),
      why: type === 'default' ? 'on any error' : safeLine(`on ${type}`),
      error: true,
    })),
  ];
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
