import type { Checkpoint, CheckpointAnswer, NewCheckpoint } from '../../src/store/store.ts';
import type { Board } from './board.ts';
import { must } from './trace.ts';

/** What running tasks remember. */
export class MemoryModel {
  readonly #board: Board;
  readonly #values = new Map<number, Map<string, { readonly attempt: number; readonly value: string }>>();

  constructor(board: Board) {
    this.#board = board;
  }

  put({ task, attempt, key, value }: NewCheckpoint, answer: CheckpointAnswer): void {
    const is = (): string => `checkpoint ${key} of ${task}#${attempt} was answered ${JSON.stringify(answer)}`;
    if (this.#board.held(task, attempt) === undefined) {
      must(answer.kind === 'lost', 'I2', is);
      this.#board.gates.reach('stale checkpoint refused');
      return;
    }
    const values = this.#values.get(task) ?? new Map();
    this.#values.set(task, values);
    const first = values.get(key);
    if (first === undefined || (first.attempt === attempt && first.value === value)) {
      must(answer.kind === 'stored', 'memory', is);
      values.set(key, { attempt, value });
      if (first !== undefined) this.#board.gates.reach('checkpoint repeated after a lost answer');
      return;
    }
    must(answer.kind === 'kept' && answer.value === first.value, 'memory', () => `${is()}, first came ${first.value}`);
    this.#board.gates.reach('checkpoint kept its first value');
  }

  listed(task: number, checkpoints: readonly Checkpoint[]): void {
    if (this.#board.isPruned(task)) return;
    const due = [...(this.#values.get(task) ?? [])].map(([key, { attempt, value }]) => `${key}#${attempt} ${value}`);
    const have = checkpoints.map(({ key, attempt, value }) => `${key}#${attempt} ${value}`);
    must(
      have.sort().join() === due.sort().join(),
      'memory',
      () => `${task} was told to remember ${have}, it remembers ${due}`,
    );
  }
}
