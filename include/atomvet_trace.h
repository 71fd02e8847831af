/*
 * atomvet_trace.h: writes traces for atomvet, in its text format. For recorders, simulators and other tools. C99, C++11; no library.
 *
 *   FILE *trace = fopen("run.std", "wb");
 *   atomvet_trace_event(trace, "T1", "begin", "deposit", "bank.c:12");
 *   atomvet_trace_event(trace, "T1", "r", "balance", "bank.c:13");
 *   atomvet_trace_event(trace, "T1", "end", NULL, NULL);
 *   fclose(trace);
 *
 * Operations and sites are those of docs/trace-formats.md; `atomvet check` names what it does not know, with its line. Events are in the
 * order of the calls: hold a lock from an event to its record if several threads write. `atomvet convert run.std -o run.atv` makes the
 * trace small.
 */
#ifndef ATOMVET_TRACE_H
#define ATOMVET_TRACE_H

#include <stdio.h>

/* A name with the characters that the format uses itself escaped. A thread's may not look like a comment. */
static inline int atomvet_trace_name(FILE *trace, const char *name, int is_thread) {
    int leads = is_thread;
    for (; *name; name++) {
        const char *escaped = *name == '\\' ? "\\\\" : *name == '|' ? "\\p" : *name == '\n' ? "\\n" : *name == '\r' ? "\\r" : NULL;
        if (leads && *name == '#')
            escaped = "\\#";
        if (*name != ' ' && *name != '\t')
            leads = 0;
        if ((escaped ? fputs(escaped, trace) : fputc((unsigned char)*name, trace)) == EOF)
            return -1;
    }
    return 0;
}

/*
 * Appends an event. `target` is the name of a variable, lock, thread, barrier or label; NULL where the operation has none. `site` is a
 * number, file:line or module+0xoffset; NULL if it is not known. Returns 0, or -1 if a name is missing or the trace cannot be written.
 */
static inline int atomvet_trace_event(FILE *trace, const char *thread, const char *op, const char *target, const char *site) {
    if (!thread || !*thread || !op || !*op || (target && !*target) || (site && !*site))
        return -1;
    if (atomvet_trace_name(trace, thread, 1) || fputc('|', trace) == EOF || fputs(op, trace) == EOF)
        return -1;
    if (target && (fputc('(', trace) == EOF || atomvet_trace_name(trace, target, 0) || fputc(')', trace) == EOF))
        return -1;
    if (fputc('|', trace) == EOF || atomvet_trace_name(trace, site ? site : "0", 0) || fputc('\n', trace) == EOF)
        return -1;
    return 0;
}

#endif
