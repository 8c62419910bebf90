import { COST, long } from './drawn-machine.ts';

/** What the actions and the agent of drawn machines do: the same from the same context, whoever asks and how often. */

export type Context = Record<string, unknown>;

/** What an action gives. One that takes something away gives the context itself. */
export function actionOf(action: string, context: Context): unknown {
  const [what = '', i] = action.split(':');
  const list = (name: string): readonly unknown[] => (context[name] as unknown[] | undefined) ?? [];
  switch (what) {
    case 'double': {
      const n = Number(context['n']);
      return { twice: 2 * n, text: long(`the double of ${n}`) };
    }
    case 'count': {
      const count = Number(context[`c${i}`]) + 1;
      const text = long(`${i}.${count}`);
      return { [`c${i}`]: count, [`list${i}`]: [...list(`list${i}`), text] };
    }
    case 'see':
      return { [`seen${i}`]: [...list(`seen${i}`), context['n']] };
    case 'drop':
      delete context[`gone${i}`];
      return context;
    default:
      throw Object.assign(new Error(`${action} is broken`), { name: 'BrokenError' });
  }
}

export const answerOf = (about: unknown): object => ({
  output: { text: long(`on ${String(about)}`) },
  usage: { total_tokens: COST, api_calls: 1 },
});
