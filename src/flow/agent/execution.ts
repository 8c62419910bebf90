/** How a state calls its agent: `execution`. */
import { isList, isMap, kindOf, type Value, type ValueMap } from '../expression/values.ts';
import { StateError } from '../machine/scopes.ts';

export type Execution =
  | { readonly type: 'default' }
  | {
      readonly type: 'retry';
      /** Seconds between the attempts, of which there is one more. */
      readonly backoffs: readonly number[];
      readonly jitter: number;
      readonly retryOnEmpty: boolean;
    }
  | { readonly type: 'parallel'; readonly samples: number }
  | {
      readonly type: 'mdap_voting';
      readonly margin: number;
      readonly candidates: number;
      readonly maxResponseTokens: number | undefined;
    };

const BACKOFFS: readonly number[] = [2, 8, 16, 35];
/** A typo must not order thousands of calls. */
const MOST_SAMPLES = 100;

/** Throws a `StateError` for what makes no sense: it is found when the state runs, and `on_error` can route it. */
export function readExecution(value: ValueMap | undefined): Execution {
  const type = value?.['type'] ?? 'default';
  const options = value ?? {};
  switch (type) {
    case 'default':
      return { type: 'default' };
    case 'retry':
      return {
        type: 'retry',
        backoffs: backoffsOf(options['backoffs']),
        jitter: numberOf(options, 'jitter', 0.1, 0, 1),
        retryOnEmpty: options['retry_on_empty'] === true,
      };
    case 'parallel':
      return { type: 'parallel', samples: wholeOf(options, 'n_samples', 3) };
    case 'mdap_voting':
      return {
        type: 'mdap_voting',
        margin: wholeOf(options, 'k_margin', 3),
        candidates: wholeOf(options, 'max_candidates', 10),
        maxResponseTokens: isNothing(options['max_response_tokens'])
          ? undefined
          : numberOf(options, 'max_response_tokens', 0, 0),
      };
    default:
      throw wrong(`type: expected default, retry, parallel or mdap_voting, found ${JSON.stringify(type)}`);
  }
}

/** What an agent says about voting in its own metadata goes before what the state says. */
export function withMetadata(execution: Execution, metadata: ValueMap): Execution {
  const { mdap } = metadata;
  if (execution.type !== 'mdap_voting' || !isMap(mdap)) return execution;
  const { margin, candidates, maxResponseTokens } = execution;
  const said = (name: string): boolean => typeof mdap[name] === 'number' && mdap[name] > 0;
  return {
    ...execution,
    margin: said('k_margin') ? wholeOf(mdap, 'k_margin', margin) : margin,
    candidates: said('max_candidates') ? wholeOf(mdap, 'max_candidates', candidates) : candidates,
    maxResponseTokens: said('max_response_tokens') ? Number(mdap['max_response_tokens']) : maxResponseTokens,
  };
}

/** Milliseconds before the attempt after `attempt` (from 0). What the endpoint asks for only ever makes it longer. */
export function retryDelayMs(
  { backoffs, jitter }: Execution & { readonly type: 'retry' },
  attempt: number,
  retryAfter: number | undefined,
  random: number,
): number {
  const seconds = Math.max(backoffs[attempt] ?? 0, retryAfter ?? 0);
  return Math.round(seconds * (1 + jitter * (2 * random - 1)) * 1000);
}

function backoffsOf(value: Value): readonly number[] {
  if (isNothing(value)) return BACKOFFS;
  if (isList(value) && value.every((one) => typeof one === 'number' && one >= 0)) return value as readonly number[];
  throw wrong(`backoffs: expected a list of seconds, found ${kindOf(value)}`);
}

function wholeOf(options: ValueMap, name: string, otherwise: number): number {
  const number = numberOf(options, name, otherwise, 1, MOST_SAMPLES);
  if (Number.isInteger(number)) return number;
  throw wrong(`${name}: expected a whole number`);
}

function numberOf(options: ValueMap, name: string, otherwise: number, least: number, most = Infinity): number {
  const value = options[name];
  if (isNothing(value)) return otherwise;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  const upTo = most === Infinity ? '' : ` and at most ${most}`;
  throw wrong(`${name}: expected a number of at least ${least}${upTo}, found ${JSON.stringify(value)}`);
}

const isNothing = (value: Value): value is null | undefined => value === undefined || value === null;

const wrong = (problem: string): StateError => new StateError('ValidationError', `execution.${problem}`);
