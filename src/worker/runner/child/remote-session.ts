import type { Artifact } from '../../../core/artifact/artifact.ts';
import type { CredentialValue } from '../../../core/credential/value.ts';
import { EngineError } from '../../../core/errors.ts';
import type { WorkspaceSpec } from '../../../core/workspace/workspace.ts';
import type { OutgoingFile, WhichArtifact } from '../../../protocol/artifact-link.ts';
import type { JournalValue, TaskRef, TaskResult, Turned, TurnRequest, Waited } from '../../../protocol/link.ts';
import { messageOf } from '../../../protocol/turn-message.ts';
import type { WorkspaceDiff } from '../../../workspace/workspace.ts';
import type { ArtifactReader, ArtifactRoom } from '../../artifacts/attempt-artifacts.ts';
import type { CredentialReader } from '../../credentials/handler-credentials.ts';
import type { PreparedWorkspace, PublishedWork, WorkspaceReader } from '../../workspace/handler-workspace.ts';
import type { AttemptSession } from '../runner.ts';
import type { Answer, ArtifactVerb, Question, Verb, WorkspaceVerb } from './messages.ts';

/** The attempt's session as a handler in a child process sees it: each call is one question to the worker, as plain values. */
export class RemoteSession implements AttemptSession {
  readonly #ask: (question: Question) => Promise<Answer>;

  constructor(ask: (question: Question) => Promise<Answer>) {
    this.#ask = ask;
  }

  journal(): Promise<readonly JournalValue[]> {
    return this.#get('journal');
  }

  async turn(turn: TurnRequest): Promise<Turned> {
    // Encoded on this side, so that a value which JSON would change is refused here.
    return this.#get('turn', messageOf(turn));
  }

  waited(): Promise<Waited | undefined> {
    return this.#get('waited');
  }

  results(tasks: readonly TaskRef[]): Promise<readonly TaskResult[]> {
    return this.#get('results', tasks);
  }

  dependencies(): Promise<readonly (TaskResult & { readonly optional: boolean })[]> {
    return this.#get('dependencies');
  }

  cancelChildren(tasks: readonly TaskRef[]): Promise<void> {
    return this.#get('cancelChildren', tasks);
  }

  definition(hash: string): Promise<string | undefined> {
    return this.#get('definition', hash);
  }

  #get<T>(verb: Verb, ...args: unknown[]): Promise<T> {
    return answered(this.#ask({ verb, args }));
  }
}

/** Credentials as a handler in a child process reads them: its worker has them, and hears of each. */
export class RemoteCredentials implements CredentialReader {
  readonly names: readonly string[];
  readonly #ask: (question: Question) => Promise<Answer>;

  constructor(names: readonly string[], ask: (question: Question) => Promise<Answer>) {
    this.names = names;
    this.#ask = ask;
  }

  read(name: string): Promise<CredentialValue> {
    return answered(this.#ask({ verb: 'credential', args: [name] }));
  }

  file(name: string): Promise<string> {
    return answered(this.#ask({ verb: 'credentialFile', args: [name] }));
  }
}

/** Artifacts as a handler in a child process reaches them: its worker sends and fetches the files. */
export class RemoteArtifacts implements ArtifactReader {
  readonly #ask: (question: Question) => Promise<Answer>;

  constructor(ask: (question: Question) => Promise<Answer>) {
    this.#ask = ask;
  }

  room(): Promise<ArtifactRoom> {
    return this.#get('artifact.room');
  }

  put(file: OutgoingFile): Promise<Artifact> {
    return this.#get('artifact.put', file);
  }

  find(which: WhichArtifact): Promise<Artifact> {
    return this.#get('artifact.find', which);
  }

  fetch(artifact: Artifact, path: string): Promise<void> {
    return this.#get('artifact.fetch', artifact, path);
  }

  list(task?: string): Promise<readonly Artifact[]> {
    return this.#get('artifact.list', ...(task === undefined ? [] : [task]));
  }

  #get<T>(verb: ArtifactVerb, ...args: unknown[]): Promise<T> {
    return answered(this.#ask({ verb, args }));
  }
}

/** The workspace as a handler in a child process has it: its worker calls git. */
export class RemoteWorkspace implements WorkspaceReader {
  readonly #ask: (question: Question) => Promise<Answer>;

  constructor(ask: (question: Question) => Promise<Answer>) {
    this.#ask = ask;
  }

  prepare(spec: WorkspaceSpec): Promise<PreparedWorkspace> {
    return this.#get('workspace.prepare', spec);
  }

  diff(): Promise<WorkspaceDiff> {
    return this.#get('workspace.diff');
  }

  commitAll(message: string): Promise<string | undefined> {
    return this.#get('workspace.commitAll', message);
  }

  publish(): Promise<PublishedWork> {
    return this.#get('workspace.publish');
  }

  #get<T>(verb: WorkspaceVerb, ...args: unknown[]): Promise<T> {
    return answered(this.#ask({ verb, args }));
  }
}

async function answered<T>(asked: Promise<Answer>): Promise<T> {
  const answer = await asked;
  if (answer.ok) return answer.value as T;
  if ('ours' in answer) throw new EngineError(answer.ours);
  throw Object.assign(new Error(answer.other.message), { name: answer.other.name });
}
