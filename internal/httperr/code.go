package httperr

import "net/http"

// Code names a kind of failure in problem documents. Programs branch on it; it never changes its meaning.
type Code string

// The codes. The table below gives each its status and its text.
const (
	BadRequest           Code = "bad_request"
	InvalidParameter     Code = "invalid_parameter"
	UnknownParameter     Code = "unknown_parameter"
	InvalidCursor        Code = "invalid_cursor"
	InvalidBody          Code = "invalid_body"
	InvalidReport        Code = "invalid_report"
	IdempotencyKeyReused Code = "idempotency_key_reused"

	// A call that changes something was repeated, or has no key by which a repetition could be told.
	IdempotencyKeyRequired Code = "idempotency_key_required"
	IdempotencyInProgress  Code = "idempotency_in_progress"

	// Actions on dead letters.
	ReasonRequired Code = "reason_required"
	UnknownAction  Code = "unknown_action"
	UnknownAgent   Code = "unknown_agent"
	EntryBusy      Code = "entry_busy"
	EntryChanged   Code = "entry_changed"
	NotEligible    Code = "not_eligible"

	Unauthenticated      Code = "unauthenticated"
	Forbidden            Code = "forbidden"
	ScopeMissing         Code = "scope_missing"
	ReadOnly             Code = "read_only"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	NotAcceptable        Code = "not_acceptable"
	RequestTimeout       Code = "request_timeout"
	Conflict             Code = "conflict"
	PreconditionFailed   Code = "precondition_failed"
	BodyTooLarge         Code = "body_too_large"
	URITooLong           Code = "uri_too_long"
	UnsupportedMediaType Code = "unsupported_media_type"
	RateLimited          Code = "rate_limited"
	HeaderTooLarge       Code = "header_too_large"
	ClientClosed         Code = "client_closed_request"
	Internal             Code = "internal"
	Unavailable          Code = "unavailable"
	Timeout              Code = "timeout"
)

// StatusClientClosed is the unofficial status for a client that went away; it is logged, nobody reads it.
const StatusClientClosed = 499

// Entry is what the table says about a code.
type Entry struct {
	Code      Code
	Status    int
	Title     string // A few words, the same for every occurrence.
	Detail    string // What a user reads when the occurrence has nothing more precise to say.
	Retryable bool   // The same request may succeed later, unchanged.
}

// Table lists all codes in the order of their status. It is the only place with texts for users.
func Table() []Entry {
	return []Entry{
		{BadRequest, http.StatusBadRequest, "Bad request", "Fleetglass cannot read the request.", false},
		{InvalidParameter, http.StatusBadRequest, "Invalid parameter", "Parameters have values that this call does not take; errors names each.", false},
		{UnknownParameter, http.StatusBadRequest, "Unknown parameter", "This call has no such query parameters; errors names each, and /api/docs lists those that there are.", false},
		{InvalidCursor, http.StatusBadRequest, "Invalid cursor",
			"The cursor is damaged, or belongs to another filter or order. Start again without a cursor.", false},
		{InvalidBody, http.StatusBadRequest, "Invalid body", "The body does not have the form that this call takes; /api/docs shows it.", false},
		{IdempotencyKeyRequired, http.StatusBadRequest, "Idempotency key required",
			"This call needs the header Idempotency-Key with a key of your own. Sent again with the same key, the call happens once.", false},
		{ReasonRequired, http.StatusBadRequest, "Reason required", "An action needs a reason of 3 to 2,000 characters.", false},
		{UnknownAction, http.StatusBadRequest, "Unknown action", "This call knows no such action; /api/docs lists those that there are.", false},
		{UnknownAgent, http.StatusBadRequest, "Unknown agent", "The triage policy has no such agent; GET /api/v1/triage/policy lists its agents.", false},
		{Unauthenticated, http.StatusUnauthorized, "Not signed in", "This call needs a valid token, sent as Authorization: Bearer …, or a session that began on /login.", false},
		{Forbidden, http.StatusForbidden, "Not allowed", "Nobody may send this request, whatever the token or role.", false},
		{ScopeMissing, http.StatusForbidden, "Scope missing", "Your token or role lacks the scope that this call needs; /api/docs names it.", false},
		{ReadOnly, http.StatusForbidden, "Read-only mode", "This server runs with --read-only and refuses everything that would change something.", false},
		{NotFound, http.StatusNotFound, "Not found", "Fleetglass knows nothing by that name or id.", false},
		{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", "This address does not take that method; the header Allow names those that it takes.", false},
		{NotAcceptable, http.StatusNotAcceptable, "Not acceptable", "This call has no answer in a media type that the header Accept names.", false},
		{RequestTimeout, http.StatusRequestTimeout, "Request too slow", "The request did not arrive in time.", true},
		{Conflict, http.StatusConflict, "Conflict", "Somebody else changed it meanwhile. Load it again before you decide.", false},
		{IdempotencyInProgress, http.StatusConflict, "In progress", "The first call with this Idempotency-Key still runs. Send the call again to get its reply.", true},
		{EntryBusy, http.StatusConflict, "An action is open", "An earlier action on this dead letter has not ended. Its history names the operation: wait until that has ended.", true},
		{EntryChanged, http.StatusPreconditionFailed, "Changed meanwhile", "It changed after you loaded it: If-Match names an earlier version. Load it again before you decide.", false},
		{PreconditionFailed, http.StatusPreconditionFailed, "Changed meanwhile", "It changed after you loaded it: the entity tag is that of an earlier version. Load it again before you decide.", false},
		{BodyTooLarge, http.StatusRequestEntityTooLarge, "Body too large", "The body is larger than this call accepts.", false},
		{URITooLong, http.StatusRequestURITooLong, "Address too long", "The address is longer than this server accepts.", false},
		{UnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", "This call does not accept that content type.", false},
		{InvalidReport, http.StatusUnprocessableEntity, "Invalid report", "A report cannot be used; errors says which one and why. Nothing of the request was stored.", false},
		{IdempotencyKeyReused, http.StatusUnprocessableEntity, "Idempotency key reused",
			"This Idempotency-Key was used with another request. Use a new key for a new request.", false},
		{NotEligible, http.StatusUnprocessableEntity, "Not eligible", "The action is not possible now; blocked lists all that stands against it.", false},
		{RateLimited, http.StatusTooManyRequests, "Too many requests", "You send more requests than this server takes from one token or person. Wait as many seconds as Retry-After says.", true},
		{HeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, "Header too large", "A header is larger than this server accepts.", false},
		{ClientClosed, StatusClientClosed, "Client went away", "The connection was closed before the answer was ready.", true},
		{Internal, http.StatusInternalServerError, "Internal error", "Something went wrong in Fleetglass. Its log has the cause.", true},
		{Unavailable, http.StatusServiceUnavailable, "Not available", "Fleetglass cannot answer this now. Try again shortly.", true},
		{Timeout, http.StatusServiceUnavailable, "Took too long",
			"The answer took too long. Narrow the filter or the time range, or try again: the store may not answer now.", true},
	}
}

// lookup returns the entry of a code; a code that is not in the table reads as [Internal].
func lookup(c Code) Entry {
	var internal Entry
	for _, e := range Table() {
		if e.Code == c {
			return e
		}
		if e.Code == Internal {
			internal = e
		}
	}
	return internal
}
