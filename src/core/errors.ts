export type ErrorFamily = 'request' | 'ownership' | 'environment' | 'work';

export interface CatalogueEntry {
  readonly family: ErrorFamily;
  /** HTTP status. */
  readonly status: number;
  /** True when the same call may succeed later without any change to it. */
  readonly retryable: boolean;
  /** `{name|fallback}` stands for the detail `name`; the fallback completes the sentence when that detail is absent. */
  readonly message: string;
  readonly hint?: string;
}

export type ErrorDetails = Readonly<Record<string, unknown>>;

/** Every error that the engine reports, once. `docs/reference/errors.md` lists the same codes; a test enforces it. */
export const CATALOGUE = Object.freeze({
  INVALID_INPUT: {
    family: 'request',
    status: 400,
    retryable: false,
    message: 'The {field|input} is not valid: {problem|it does not have the documented form}.',
    hint: 'Correct the input and send it again; nothing was changed.',
  },
  NOT_FOUND: {
    family: 'request',
    status: 404,
    retryable: false,
    message: 'There is no {kind|object} {id|of that name}.',
    hint: 'Check the id; it may have been removed after its retention time.',
  },
  CONFLICT: {
    family: 'request',
    status: 409,
    retryable: false,
    message: 'The request does not fit the current state: {problem|something else changed it first}.',
    hint: 'Read the current state and decide again.',
  },
  UNIQUE_CONFLICT: {
    family: 'request',
    status: 422,
    retryable: false,
    message: 'The unique key {key|of this push} already belongs to a task with another input.',
    hint: 'Use another key for other work, or push the same input to get the existing task.',
  },
  LIMIT_REACHED: {
    family: 'request',
    status: 429,
    retryable: true,
    message: 'The limit {limit|of this task} takes no more tasks now.',
    hint: 'Push it again when some tasks of the limit have ended, or raise the limit.',
  },
  EXPRESSION_FAILED: {
    family: 'request',
    status: 422,
    retryable: false,
    message: 'The {kind|expression} has no value: {problem|it cannot be evaluated}.',
    hint: 'Try it with "leasehold eval" or "leasehold render".',
  },
  TOO_MANY: {
    family: 'request',
    status: 429,
    retryable: true,
    message: 'Too much at once: {problem|other callers need their turn}.',
    hint: 'Wait as long as Retry-After says and try again, with less at a time.',
  },
  UNSUPPORTED: {
    family: 'request',
    status: 501,
    retryable: false,
    message: 'A {store|plain} store cannot do this: it has no {part|such part}.',
    hint: 'Use a SQLite file or Postgres, which have every part; plain queues, retries and delays work on any store.',
  },
  INVALID_ID: {
    family: 'request',
    status: 400,
    retryable: false,
    message: 'The text {id|given} is not the id of a {kind|object} of this cluster.',
    hint: 'Copy the whole id, in lower case and with its prefix, from the cluster that made it.',
  },
  ILLEGAL_TRANSITION: {
    family: 'request',
    status: 409,
    retryable: false,
    message: 'A {kind|task} cannot go from {from|its present state} to {to|the state asked for}.',
    hint: 'Read the current state; a finished task changes only by an explicit retry.',
  },
  TOO_LARGE: {
    family: 'request',
    status: 413,
    retryable: false,
    message: 'The {field|input} is too large; the limit in bytes is {maxBytes|set by the configuration}.',
    hint: 'Store the data elsewhere, as an artifact or a file, and send a reference to it.',
  },
  ARTIFACT_UNKNOWN: {
    family: 'request',
    status: 409,
    retryable: false,
    message: 'The artifact {id|that was named} is no whole artifact of this tree.',
    hint: 'Name artifacts whose upload has ended, of this task or of another one of its tree.',
  },
  ARTIFACT_MISMATCH: {
    family: 'request',
    status: 422,
    retryable: false,
    message:
      'The bytes of the artifact {name|in question} are not those that were announced: {problem|their hash is another one}.',
    hint: 'Read the file again, announce what it has now, and send it again; nothing of it is visible.',
  },
  UNAUTHENTICATED: {
    family: 'request',
    status: 401,
    retryable: false,
    message: 'This needs a token, and the request has none that is good.',
    hint: 'Send "Authorization: Bearer TOKEN". The node keeps its admin token in its data directory; tokens for others are made with it.',
  },
  FORBIDDEN: {
    family: 'request',
    status: 403,
    retryable: false,
    message: 'This is not allowed: {problem|the token has another role}.',
    hint: 'Use a token with the role that it needs.',
  },
  WRONG_HOST: {
    family: 'request',
    status: 421,
    retryable: false,
    message: 'The request is meant for another server: {problem|its Host header has another name}.',
    hint: 'Ask for the address that the node prints when it starts.',
  },
  READ_ONLY: {
    family: 'request',
    status: 403,
    retryable: false,
    message: 'This node only answers reads: {problem|it is an observer}.',
    hint: 'Ask another node, which GET /api/v1/cluster lists, or give this one another role: leasehold cluster role NODE auto.',
  },
  UNKNOWN_OPTION: {
    family: 'request',
    status: 400,
    retryable: false,
    message: 'There is no option {option|of that name}.',
    hint: 'Check the spelling against the list of options.',
  },
  LEASE_LOST: {
    family: 'ownership',
    status: 409,
    retryable: false,
    message: 'The lease of {task|this task} is lost: attempt {attempt|given} is not the one that runs now.',
    hint: 'Stop work on this task; its result can no longer be recorded by this attempt.',
  },
  DUTY_LOST: {
    family: 'ownership',
    status: 409,
    retryable: false,
    message: 'The duty {duty|in question} is held by another process.',
    hint: 'Stop acting for this duty; the process that holds it goes on.',
  },
  TICKET_REFUSED: {
    family: 'ownership',
    status: 403,
    retryable: false,
    message: 'The ticket of this worker is refused: {problem|it is not good}.',
    hint: 'A ticket is good for one worker, once, and for a short time. The pool starts another worker if there is use for one.',
  },
  WORKER_LEAVING: {
    family: 'ownership',
    status: 403,
    retryable: false,
    message: 'The worker {worker|in question} was sent home by its pool and gets no more tasks.',
    hint: 'End this worker; the pool starts another one if there is use for it.',
  },
  WORKER_DISABLED: {
    family: 'ownership',
    status: 403,
    retryable: false,
    message: 'The worker {worker|in question} is disabled and gets no tasks.',
    hint: 'Enable the worker before it claims again.',
  },
  UPGRADE_REQUIRED: {
    family: 'ownership',
    status: 426,
    retryable: false,
    message: 'The worker {worker|in question} gets no work as release {current_version|of this program}.',
    hint: 'Its updater takes the release that the node serves; without one, install the worker again.',
  },
  STORE_BUSY: {
    family: 'environment',
    status: 503,
    retryable: true,
    message: 'The store is busy: {problem|other writers held it until the deadline}.',
    hint: 'Try again after a short, random wait.',
  },
  STORE_UNAVAILABLE: {
    family: 'environment',
    status: 503,
    retryable: true,
    message: 'The store cannot be reached: {problem|the connection failed}.',
    hint: 'Check that the store runs and that its address is right, then try again.',
  },
  STORE_FULL: {
    family: 'environment',
    status: 507,
    retryable: true,
    message: 'The disk of the store is full, so the change was not made.',
    hint: 'Free some space and try again; nothing that was acknowledged has been lost.',
  },
  ARTIFACT_QUOTA: {
    family: 'environment',
    status: 507,
    retryable: true,
    message: 'There is no room for the artifact: {problem|the quota is used up}.',
    hint: 'Remove artifacts, let the retention end sooner, or raise the quota.',
  },
  STORE_READONLY: {
    family: 'environment',
    status: 503,
    retryable: true,
    message: 'The store accepts no writes at present: {problem|it is read-only}.',
    hint: 'Check the permissions of the file, or that the address leads to the primary, then try again.',
  },
  STORE_CORRUPT: {
    family: 'environment',
    status: 500,
    retryable: false,
    message: 'The store holds data that cannot be right: {problem|an integrity check failed}.',
    hint: 'Stop all processes that use it, keep a copy, and restore the last good backup.',
  },
  STORE_CLOSED: {
    family: 'environment',
    status: 503,
    retryable: false,
    message: 'The store was closed by this process and takes no more calls.',
    hint: 'Open it again, or send the call to a process that still runs.',
  },
  STORE_MOVED: {
    family: 'environment',
    status: 410,
    retryable: false,
    message: 'The store was moved to {to|another place}, and gives out no more work here.',
    hint: 'Use the new address: --store URL, LEASEHOLD_STORE, or the URL that your program opens.',
  },
  SCHEMA_TOO_NEW: {
    family: 'environment',
    status: 500,
    retryable: false,
    message: 'The store has schema version {found|unknown here}, newer than this program understands.',
    hint: 'Upgrade leasehold on this host to the version that the other processes run.',
  },
  RUNTIME_TOO_OLD: {
    family: 'environment',
    status: 500,
    retryable: false,
    message: 'This runtime is too old: found {found|an older one}, needed {needed|Node 24 or newer}.',
    hint: 'Install the needed version and start again.',
  },
  NODE_UNREACHABLE: {
    family: 'environment',
    status: 503,
    retryable: true,
    message: 'No node can be reached at {url|that address}: {problem|the connection failed}.',
    hint: 'Check the address that "leasehold up" prints, that the node runs, and that this host can reach it.',
  },
  NODE_TOO_OLD: {
    family: 'environment',
    status: 501,
    retryable: false,
    message:
      'The node at {url|that address} is older than this program and cannot do this: {call|it has no such call}.',
    hint: 'Upgrade the node to the version of this program, or work on its store directly with --store URL.',
  },
  OVERLOADED: {
    family: 'environment',
    status: 503,
    retryable: true,
    message: 'The engine has more calls waiting than it accepts: {problem|its queue of calls is full}.',
    hint: 'Wait for some calls to finish, then try again more slowly.',
  },
  TIMEOUT: {
    family: 'environment',
    status: 504,
    retryable: true,
    message: 'The {action|call} did not finish in time, and it is not known whether it took effect.',
    hint: 'Repeat it with the same operation id; that cannot make it happen twice.',
  },
  INTERNAL: {
    family: 'environment',
    status: 500,
    retryable: false,
    message: 'An internal check failed: {problem|no more is known}.',
    hint: 'This is a defect in leasehold; please report it with this message and its stack.',
  },
  TASK_FAILED: {
    family: 'work',
    status: 422,
    retryable: false,
    message: 'The task {task|in question} failed: {problem|its handler gave no reason}.',
    hint: 'Read the attempts and the logs of the task, correct the cause, and retry the task.',
  },
  MACHINE_FAILED: {
    family: 'work',
    status: 422,
    retryable: false,
    message: 'The machine failed in the state {state|that it was in}: {problem|it threw an error}.',
    hint: 'Route the error with "on_error", or run it with --verbose to see what led there.',
  },
  RUN_TIMEOUT: {
    family: 'work',
    status: 504,
    retryable: true,
    message: 'The task ran longer than its timeout of {timeoutMs|the task} ms and was stopped.',
    hint: 'Give the task a longer timeout, or make it do less in one go.',
  },
  LOOP_BLOCKED: {
    family: 'work',
    status: 504,
    retryable: true,
    message: 'The handler blocked the loop of its worker past its run timeout, for {afterMs|too many} ms.',
    hint: 'Let the handler await something now and then, or run the task with isolation "process", which can be ended.',
  },
  STEP_UNCERTAIN: {
    family: 'work',
    status: 409,
    retryable: false,
    message: 'The step {step|in question} was begun by an earlier attempt, and nobody knows whether it took effect.',
    hint: 'Find out what became of it, by its key if it has one, and finish it by hand; or use the policy "relaunch".',
  },
  REPLAY_DIVERGED: {
    family: 'work',
    status: 409,
    retryable: false,
    message:
      'The workflow does not do what its run has recorded: {expected|another call} was expected, and {came|something else} came.',
    hint: 'Register the code that the run began with, or give changed code another version; then retry the run, which has lost nothing.',
  },
  CREDENTIAL_MISSING: {
    family: 'work',
    status: 424,
    retryable: true,
    message:
      'The credential {credential|asked for} is not at hand for this task: {problem|its worker does not hold it}.',
    hint: 'Name it under "credentials" in the placement of the task, which then runs only where it is held, and give it to a worker.',
  },
  CREDENTIAL_LOCKED: {
    family: 'work',
    status: 409,
    retryable: false,
    message: 'The value of the credential {name|that was named} cannot be opened with the secret of this cluster.',
    hint: 'It was sealed under another secret, which is gone: set the value again with "leasehold credentials set".',
  },
  TASK_NOT_SIGNED: {
    family: 'work',
    status: 403,
    retryable: false,
    message: 'The worker runs signed tasks only, and refuses this one: {problem|its signature does not hold}.',
    hint: 'Push it with --sign-key, with a key that the worker lists; retrying this task does not help.',
  },
  COMMAND_NOT_ALLOWED: {
    family: 'work',
    status: 403,
    retryable: false,
    message: 'The worker runs listed commands only, and refuses this task: {problem|its command is not on the list}.',
    hint: 'Allow the command where the worker is started, with --allow-command; retrying this task does not help.',
  },
  ARTIFACT_FAILED: {
    family: 'work',
    status: 503,
    retryable: true,
    message:
      'The artifact {name|in question} could not be transferred: {problem|the place of artifacts is out of reach}.',
    hint: 'Check the place of artifacts, and retry the task.',
  },
  WORKSPACE_FAILED: {
    family: 'work',
    status: 424,
    retryable: true,
    message: 'The workspace of the task could not be made ready: {problem|its worker gave no reason}.',
    hint: 'Check the address, the ref and the credential of the workspace, and what the worker allows; the worker tries it again with the next try of the task.',
  },
  WORKSPACE_MISMATCH: {
    family: 'work',
    status: 409,
    retryable: false,
    message:
      'The workspace is not what the task expects: {expected|its commit} was asked for, and {found|something else} was found.',
    hint: 'Somebody else has changed the branch of the run, or its commits never left their worker. Compare the two before the task is retried.',
  },
  HANDLER_NOT_FOUND: {
    family: 'work',
    status: 404,
    retryable: false,
    message: 'No handler named {handler|like that} is registered here.',
    hint: 'Register the handler on a worker of this queue, or correct its name.',
  },
} as const satisfies Readonly<Record<string, CatalogueEntry>>);
for (const entry of Object.values(CATALOGUE)) Object.freeze(entry);

export type ErrorCode = keyof typeof CATALOGUE;

/** Whether a text from elsewhere is one of our codes. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(CATALOGUE, text);
}

export interface EngineErrorInit {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly status: number;
  readonly details?: ErrorDetails | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** The error on the wire. Never the cause or the stack: those may contain what the caller must not see. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: ErrorDetails;
}

const BRAND: unique symbol = Symbol.for('leasehold.error');

/** The one error class. `fault()` makes it; the constructor is for errors that arrive with their text over the wire. */
export class EngineError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly status: number;
  readonly details: ErrorDetails | undefined;
  readonly hint: string | undefined;

  constructor(init: EngineErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.retryable = init.retryable;
    this.status = init.status;
    this.details = init.details;
    this.hint = init.hint;
  }

  static {
    // On the prototype: the stack then begins with the name, and neither appears among the fields when it is printed.
    Object.defineProperties(EngineError.prototype, { name: { value: 'EngineError' }, [BRAND]: { value: true } });
  }

  /** By brand, so that an error from another loaded copy of the package is recognised. */
  static override [Symbol.hasInstance](value: unknown): value is EngineError {
    return typeof value === 'object' && value !== null && (value as { [BRAND]?: unknown })[BRAND] === true;
  }

  toJSON(): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

export interface FaultOptions {
  /** Replaces the hint of the catalogue. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** Builds the error of a code; `details` fill the placeholders of its message and travel with it. */
export function fault(code: ErrorCode, details?: ErrorDetails, options: FaultOptions = {}): EngineError {
  const entry: CatalogueEntry = CATALOGUE[code];
  return new EngineError({
    code,
    message: fillTemplate(entry.message, details ?? {}),
    retryable: entry.retryable,
    status: entry.status,
    details,
    hint: options.hint ?? entry.hint,
    cause: options.cause,
  });
}

export function isEngineError(error: unknown, code?: ErrorCode): error is EngineError {
  return error instanceof EngineError && (code === undefined || error.code === code);
}

/** For conditions that only a bug of ours can make false; bad input gets its own code. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw fault('INTERNAL', { problem: message });
}

const LONGEST_DETAIL = 200;

function fillTemplate(template: string, details: ErrorDetails): string {
  return template.replace(/\{(\w+)\|([^}]*)\}/g, (_whole, name: string, fallback: string) => {
    const value = Object.hasOwn(details, name) ? details[name] : undefined;
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
    if (typeof value !== 'string') return fallback;
    // One line of bounded length: details come from outside and messages end up in logs.
    return value
      .slice(0, LONGEST_DETAIL)
      .toWellFormed()
      .replace(/\p{Cc}/gu, ' ');
  });
}
