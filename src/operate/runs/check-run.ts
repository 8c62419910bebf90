import { isEngineError } from '../../core/errors.ts';
import { isMap, type Value } from '../../flow/expression/values.ts';
import { readGraph } from '../../flow/graph/read-graph.ts';
import { filesOf } from '../../flow/machine/bundle/peers.ts';
import { type Path, type Problem, pathText } from '../../flow/machine/problems.ts';
import { readMachine } from '../../flow/machine/read-machine.ts';
import type { RunCheckView } from '../../protocol/views.ts';

type Told = RunCheckView['problems'][number];

/** Problems that are told. */
const MOST_TOLD = 200;

/** What the text of a machine or of a graph says, and all that is wrong with it. */
export async function checkRun(text: string): Promise<RunCheckView> {
  // The parser takes longer to load than most commands take.
  const { parseMachineText } = await import('../../flow/machine/text/machine-text.ts');
  try {
    const { value, lineOf } = parseMachineText(text, 'text');
    return checkValue(value as Value, lineOf);
  } catch (error) {
    if (!isEngineError(error, 'INVALID_INPUT')) throw error;
    const [, line, message] = /^line (\d+): (.*)$/s.exec(String(error.details?.['problem'])) ?? [];
    return { problems: [{ level: 'error', place: '', line: Number(line ?? 1), message: message ?? error.message }] };
  }
}

function checkValue(value: Value, lineOf: (path: Path) => number | undefined): RunCheckView {
  const kind = isMap(value) && value['nodes'] !== undefined ? 'graph' : 'machine';
  const { title, runs, problems } = kind === 'graph' ? ofGraph(value) : ofMachine(value);
  const told = problems.slice(0, MOST_TOLD).map(({ level, path, message }): Told => {
    const line = lineOf(path);
    return { level, place: pathText(path), ...(line === undefined ? {} : { line }), message };
  });
  return {
    kind,
    ...(title === undefined ? {} : { title: title.slice(0, 255) }),
    ...(runs ? { definition: value } : {}),
    problems: told,
  };
}

interface Checked {
  readonly title: string | undefined;
  readonly runs: boolean;
  readonly problems: readonly Problem[];
}

function ofGraph(value: Value): Checked {
  const { graph, problems } = readGraph(value);
  return { title: graph?.name, runs: graph !== undefined, problems };
}

function ofMachine(value: Value): Checked {
  const { machine, problems } = readMachine(value);
  // Files are on the host of whoever wrote it.
  const files = machine === undefined ? [] : filesOf(machine);
  const missing = files.map(
    (file): Problem => ({
      level: 'error',
      path: ['data', 'machines'],
      message: `it names the file ${JSON.stringify(file.slice(0, 80))}, which is not here: "leasehold run FILE --server URL" takes it along`,
    }),
  );
  return {
    title: machine?.name,
    runs: machine !== undefined && files.length === 0,
    problems: [...problems, ...missing],
  };
}
